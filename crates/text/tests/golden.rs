//! Golden fingerprints of every kind of profile. Stores contain such fingerprints, so they must never change. A change
//! that breaks this test needs a new version of the profiles: `tp2`.

use twinprint_fingerprint::HashKey;
use twinprint_text::{Analyzer, Profile};

const TEXTS: [&str; 3] = [
    "The keeper of the lighthouse wrote down the weather every evening: wind from the west, 7 knots; rain after dark. “No ships,” she added — then, an hour later, one ship.",
    "灯塔的看守人每天晚上都会记下天气：西风七级，入夜有雨。她写道“没有船”，一小时后又添上一笔：来了一艘船。船，船，灯塔与船。",
    "用Python3处理ＵＴＦ－８文本, déjà-vu und Straße; ひらがなとカタカナ、ภาษาไทย และ 한국어. 𠀀𠀁龘 3.14 don't",
];

/// The fingerprints at 128 bits. Narrower ones are their low bits.
const GOLDEN: [(&str, [u128; 3]); 8] = [
    (
        "tp1-words-set",
        [
            0x5FD2_44AB_9C70_AE61_D299_CCE8_72C3_3FC1,
            0x1425_6908_5A4F_DFAC_68BB_F169_EC73_C121,
            0xC051_AFD8_61C8_6440_3E61_EF0B_38B1_9E2D,
        ],
    ),
    (
        "tp1-words-tf",
        [
            0x5392_00AB_9E10_AE60_9291_44F0_324B_3FD4,
            0xD505_790E_4A5F_D7BC_49FB_704D_54C3_C221,
            0xC051_AFD8_61C8_6440_3E61_EF0B_38B1_9E2D,
        ],
    ),
    (
        "tp1-words-lntf",
        [
            0x53D2_04AB_9E50_AE60_D291_4CF0_724B_3FD5,
            0x1525_6908_5A4F_D7AC_68BB_7069_EC53_C121,
            0xC051_AFD8_61C8_6440_3E61_EF0B_38B1_9E2D,
        ],
    ),
    (
        "tp1-words-levels",
        [
            0x53D2_04AB_9E50_AE60_D291_4CF0_724B_3FD5,
            0x1505_6908_4A4F_D7AC_48BB_7049_4443_C021,
            0xC051_AFD8_61C8_6440_3E61_EF0B_38B1_9E2D,
        ],
    ),
    (
        "tp1-words3-lntf",
        [
            0xCF26_DB40_DCCC_B0EA_9CB8_89A3_F851_28FF,
            0x4598_B9CD_834B_0177_1EE3_1C2B_4E40_4659,
            0xA0FC_7150_0E49_F3D2_2522_2D24_3943_D558,
        ],
    ),
    (
        "tp1-chars4-tf",
        [
            0xAD28_5FCC_B242_6252_608F_626F_7C47_5460,
            0x4156_AC0F_FA63_E104_4082_387A_085C_32D1,
            0x4206_02DB_7E35_F090_9D19_C650_9774_1943,
        ],
    ),
    (
        "tp1-chars9-set",
        [
            0x0883_36E9_1211_EAFC_2438_3F9E_CCC7_9930,
            0x4F06_B412_3175_56F3_1AF4_E133_1684_6B22,
            0x57C3_6828_8D2F_94C8_4DB5_A679_5005_72DA,
        ],
    ),
    (
        "tp1-wordpairs-lntf",
        [
            0x59C0_B6A3_9E65_AC64_D8A0_0EFC_128B_BBCB,
            0x1565_6B04_5E4D_5BBC_B15E_F029_8AC0_E821,
            0xBC51_C1D2_634C_6AC0_2E65_6F4B_F8A1_BA95,
        ],
    ),
];

#[test]
fn fingerprints_are_unchanged() {
    for (profile, fingerprints) in GOLDEN {
        for bits in [16, 32, 64, 128] {
            let profile = Profile::parse(&format!("{profile}-{bits}")).unwrap();
            let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
            for (text, fingerprint) in TEXTS.into_iter().zip(fingerprints) {
                let low = fingerprint & u128::MAX >> (128 - bits);
                let found = analyzer.analyze(text).fingerprint;
                assert_eq!(found, low, "{}: {found:#x}, {text}", profile.id());
            }
            assert_eq!(analyzer.analyze("—").fingerprint, 0);
        }
    }
}

#[test]
fn keyed_fingerprints_are_unchanged() {
    let key = HashKey::new(0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908);
    let profile = Profile::parse("tp1-words-lntf-128+key.golden").unwrap();
    let mut analyzer = Analyzer::new(&profile, key);
    let found = TEXTS.map(|text| analyzer.analyze(text).fingerprint);
    let golden = [
        0x2CAC_DCD4_CFE4_E02F_505F_706C_04D7_AF34,
        0x4F97_22EB_7DD5_AB9F_A2FD_BAB8_81C6_D086,
        0x2CC3_046C_4129_87C1_8DE0_2886_4340_A049,
    ];
    assert_eq!(found, golden, "{found:#x?}");
}

/// Fingerprints with Rabin fingerprints as feature hashes, from a computation with Python's integers: polynomials as
/// large numbers, shingles as substrings.
#[test]
fn rabin_fingerprints_of_shingles() {
    let text = "The keeper of the lighthouse wrote down the weather every evening, and the keeper of the lighthouse slept.";
    for (profile, golden) in [
        ("tp1-words3-set", 0x820D_0D4F_052F_9CCA_7673_FC03_56CB_79AA_u128),
        ("tp1-words3-tf", 0x8A08_044F_0529_9CCB_7C2B_CC02_5ECB_6922),
        ("tp1-chars5-tf", 0xD081_7B4E_7D5D_F8EF_5740_BC45_1186_A955),
    ] {
        for bits in [16, 32, 64, 128] {
            let profile = Profile::parse(&format!("{profile}-{bits}+hash.rabin")).unwrap();
            let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
            let low = golden & u128::MAX >> (128 - bits);
            assert_eq!(analyzer.analyze(text).fingerprint, low, "{}", profile.id());
            // By other routes: occurrences that vote one by one, and features with their hashes.
            assert_eq!(analyzer.fingerprint(text), low, "{}", profile.id());
            assert_eq!(analyzer.votes(text).unwrap().fingerprint, low, "{}", profile.id());
        }
    }
}
