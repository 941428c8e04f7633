//! Checks that the inputs have the fields that the options name, before any text is read.

use super::error::SourceError;
use super::field_role::FieldRole;
use super::options::SourceOptions;
use super::probe::{FieldPresence, probe_field};
use super::sources::Sources;
use crate::number::counted;

impl Sources {
    /// Checks that the inputs have the fields that the options name. Tables are checked by their schema, and CSV and
    /// TSV files by their header. Of other files only the first records are checked. If these lack a field, `hint` is
    /// called with a message. The default id field is optional and is not checked.
    ///
    /// # Errors
    /// [`SourceError::NoField`] if no file has a field that the options name.
    pub fn check_fields(&self, mut hint: impl FnMut(&str)) -> Result<(), SourceError> {
        let options = self.options();
        let id = options.id_key.as_ref();
        let named = [
            (FieldRole::Text, Some(&options.text_key)),
            (
                FieldRole::Id,
                id.filter(|_| options.id_key != SourceOptions::default().id_key),
            ),
            (FieldRole::Sort, options.sort_key.as_ref()),
        ];
        for (role, key) in named {
            if let Some(key) = key {
                self.check_field(role, key, &mut hint)?;
            }
        }
        Ok(())
    }

    /// Checks one field in one file after the other, until a file has the field or may have it.
    fn check_field(
        &self,
        role: FieldRole,
        key: &str,
        hint: &mut impl FnMut(&str),
    ) -> Result<(), SourceError> {
        let mut missing = None;
        for file in self.list() {
            if self.cancelled() {
                return Err(SourceError::Cancelled);
            }
            match probe_field(file, self.options(), key) {
                FieldPresence::Missing(present) => {
                    missing.get_or_insert_with(|| SourceError::NoField {
                        role,
                        key: key.to_owned(),
                        files: self.list().len() as u64,
                        file: file.label.clone(),
                        present,
                    });
                }
                FieldPresence::NotAtFirst(records, fields) => {
                    hint(&format!(
                        "none of the first {} of {} has a field {key:?} for {role}; the fields of the first record are {}",
                        counted(records, "record"),
                        file.label,
                        if fields.is_empty() {
                            "none".to_owned()
                        } else {
                            fields.join(", ")
                        }
                    ));
                    return Ok(());
                }
                FieldPresence::Empty => {}
                FieldPresence::There | FieldPresence::Unseen | FieldPresence::Unknown => return Ok(()),
            }
        }
        missing.map_or(Ok(()), Err)
    }
}
