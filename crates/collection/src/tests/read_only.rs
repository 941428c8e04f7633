//! Collections opened read-only, after an orderly close or a kill.

use std::fs;

use super::{add, document, text};
use crate::database::FILE;
use crate::{Collection, CollectionError, Durability, Settings, Verdict};

#[test]
fn readers_share_a_collection_and_do_not_change_its_file() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name);
    let settings = Settings {
        stories: true,
        ..Settings::default()
    };
    let writer = Collection::create(&path("c"), settings).unwrap();
    for n in 0..20 {
        add(&writer, &format!("d{n}"), text(n, 120, 0));
    }
    // The state after kill -9.
    fs::create_dir(path("killed")).unwrap();
    fs::copy(path("c").join(FILE), path("killed").join(FILE)).unwrap();
    assert!(matches!(
        Collection::open_read_only(&path("c")),
        Err(CollectionError::InUse { .. })
    ));
    let expected = writer.get("d7").unwrap();
    let checked = writer.verify().unwrap();
    drop(writer);
    for name in ["c", "killed"] {
        let dir = path(name);
        let before = fs::read(dir.join(FILE)).unwrap();
        let readers = [(); 2].map(|()| Collection::open_read_only(&dir).unwrap());
        assert_eq!(Collection::verify_in(&dir).unwrap(), checked);
        for reader in &readers {
            assert_eq!(reader.get("d7").unwrap(), expected);
            let query = vec![document("new", text(7, 120, 3))];
            let answer = reader.check(query.clone()).unwrap().remove(0).unwrap();
            assert_eq!(answer.verdict, Verdict::Near);
            for refused in [
                reader.add(query, false, Durability::Synced).unwrap_err(),
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
