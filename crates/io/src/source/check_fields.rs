//! The check that the inputs have the fields that the options name, before any text is read.

use super::error::SourceError;
use super::field_role::FieldRole;
use super::options::SourceOptions;
use super::probe::{FieldPresence, probe_field};
use super::sources::Sources;
use crate::number::counted;

impl Sources {
    /// Checks that the inputs have the fields that the options name, in the schemas of tables and the headers of delimited files. For
    /// other formats the first records are checked, and `hint` is called with a message if they lack a field. The default id field is
    /// optional and not checked.
    ///
    /// # Errors
    /// [`SourceError::NoField`] if no file has one of them.
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

    /// Checks one file after the other, up to the first that may have the field.
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
                        "none of the first {} of {} has a field {key:?} for {role}; the first has {}",
                        counted(records, "record"),
                        file.label,
                        if fields.is_empty() {
                            "no fields".to_owned()
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
