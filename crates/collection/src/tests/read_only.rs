//! Collections opened for reading alone, closed before or not.

use std::fs;

use super::{add, document, text};
use crate::database::FILE;
use crate::{Collection, CollectionError, Durability, Settings, Verdict};

#[test]
fn readers_share_a_collection_and_leave_its_file_alone() {
    let room = tempfile::tempdir().unwrap();
    let place = |name: &str| room.path().join(name);
    let settings = Settings {
        stories: true,
        ..Settings::default()
    };
    let written = Collection::create(&place("c"), settings).unwrap();
    for n in 0..20 {
        add(&written, &format!("d{n}"), text(n, 120, 0));
    }
    // As after kill -9.
    fs::create_dir(place("killed")).unwrap();
    fs::copy(place("c").join(FILE), place("killed").join(FILE)).unwrap();
    assert!(matches!(
        Collection::open_read_only(&place("c")),
        Err(CollectionError::InUse { .. })
    ));
    let expected = written.get("d7").unwrap();
    let checked = written.verify().unwrap();
    drop(written);
    for name in ["c", "killed"] {
        let dir = place(name);
        let before = fs::read(dir.join(FILE)).unwrap();
        let readers = [(); 2].map(|()| Collection::open_read_only(&dir).unwrap());
        assert_eq!(Collection::verify_in(&dir).unwrap(), checked);
        for reader in &readers {
            assert_eq!(reader.get("d7").unwrap(), expected);
            let asked = vec![document("new", text(7, 120, 3))];
            let answer = reader.check(asked.clone()).unwrap().remove(0).unwrap();
            assert_eq!(answer.verdict, Verdict::Near);
            for refused in [
                reader.add(asked, false, Durability::Synced).unwrap_err(),
                reader.delete(&["d7"], Durability::Synced).unwrap_err(),
            ] {
                assert!(
                    matches!(refused, CollectionError::ReadOnly { .. }),
                    "{name}: {refused}"
                );
            }
            assert!(reader.refusal().is_none());
        }
        assert!(matches!(
            Collection::open(&dir),
            Err(CollectionError::InUse { .. })
        ));
        drop(readers);
        assert!(fs::read(dir.join(FILE)).unwrap() == before, "{name}");
        Collection::open(&dir).unwrap();
    }
}
