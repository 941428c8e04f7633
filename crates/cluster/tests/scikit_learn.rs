//! The measures compared with those of scikit-learn on random labellings. `scikit_learn.py` prints the table (scikit-learn 1.9.1).
#![expect(clippy::unreadable_literal, reason = "as scikit-learn printed them")]

use twinprint_cluster::metrics::Agreement;

/// Items, labels found, labels of the truth, per cent of items with the label of the truth; homogeneity, completeness, V-measure,
/// adjusted Rand index, mutual information (geometric), precision and recall of pairs.
const CASES: [([u32; 4], [f64; 7]); 13] = [
    (
        [1, 1, 1, 0],
        [
            1.000000000000,
            1.000000000000,
            1.000000000000,
            1.000000000000,
            1.000000000000,
            1.000000000000,
            1.000000000000,
        ],
    ),
    (
        [2, 2, 1, 0],
        [
            1.000000000000,
            0.000000000000,
            0.000000000000,
            0.000000000000,
            0.000000000000,
            1.000000000000,
            0.000000000000,
        ],
    ),
    (
        [10, 3, 3, 0],
        [
            0.559136039540,
            0.484397186092,
            0.519090178526,
            0.280821917808,
            0.520426675139,
            0.583333333333,
            0.437500000000,
        ],
    ),
    (
        [50, 5, 8, 50],
        [
            0.484766857024,
            0.523206245570,
            0.503253601882,
            0.285597568088,
            0.503619943251,
            0.344086021505,
            0.429530201342,
        ],
    ),
    (
        [200, 20, 10, 30],
        [
            0.409539470330,
            0.322843339322,
            0.361060058874,
            0.166007092879,
            0.363616680290,
            0.316467341306,
            0.174265450861,
        ],
    ),
    (
        [200, 10, 10, 90],
        [
            0.874937127801,
            0.873541488836,
            0.874238751317,
            0.845872670124,
            0.874239029818,
            0.864467005076,
            0.857934508816,
        ],
    ),
    (
        [500, 400, 30, 20],
        [
            0.849958322822,
            0.534013728114,
            0.655922801916,
            0.084806509912,
            0.673713153138,
            0.451193058568,
            0.050534499514,
        ],
    ),
    (
        [1000, 2, 50, 70],
        [
            0.701115695198,
            0.786401149707,
            0.741313539635,
            0.254412771638,
            0.742534974787,
            0.184940422549,
            0.550740483053,
        ],
    ),
    (
        [1000, 100, 100, 95],
        [
            0.957175850920,
            0.955935553242,
            0.956555300029,
            0.884895962664,
            0.956555501055,
            0.891067538126,
            0.881120250685,
        ],
    ),
    (
        [3000, 7, 7, 0],
        [
            0.002117755691,
            0.002118232705,
            0.002117994171,
            -0.000672240888,
            0.002117994184,
            0.142110195136,
            0.142231964529,
        ],
    ),
    (
        [3000, 40, 40, 60],
        [
            0.515052861397,
            0.514913545832,
            0.514983194192,
            0.365784802956,
            0.514983198903,
            0.381992764950,
            0.381179029182,
        ],
    ),
    (
        [300, 1, 9, 0],
        [
            0.000000000000,
            1.000000000000,
            0.000000000000,
            0.000000000000,
            0.000000000000,
            0.112998885173,
            1.000000000000,
        ],
    ),
    (
        [300, 9, 1, 0],
        [
            1.000000000000,
            0.000000000000,
            0.000000000000,
            0.000000000000,
            0.000000000000,
            1.000000000000,
            0.111148272018,
        ],
    ),
];

/// The labellings of `scikit_learn.py`, from the same random numbers.
fn labellings(seed: u64, [n, a, b, same]: [u32; 4]) -> (Vec<u32>, Vec<u32>) {
    let mut state = seed;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let mut item = |_| {
        let draws = [draw(), draw(), draw()];
        let truth = draws[0] % b;
        let found = if draws[1] % 100 < same {
            truth
        } else {
            draws[2] % a
        };
        (found, truth)
    };
    (0..n).map(&mut item).unzip()
}

#[test]
fn measures_are_those_of_scikit_learn() {
    for (seed, (shape, expected)) in (1..).zip(CASES) {
        let (found, truth) = labellings(seed, shape);
        let agreement = Agreement::of(&found, &truth);
        let measured = [
            agreement.homogeneity,
            agreement.completeness,
            agreement.v_measure(),
            agreement.adjusted_rand,
            agreement.mutual_information,
            agreement.pairwise.precision,
            agreement.pairwise.recall,
        ];
        for (i, (measured, expected)) in measured.iter().zip(expected).enumerate() {
            assert!(
                (measured - expected).abs() < 1e-9,
                "{shape:?}, measure {i}: {measured} instead of {expected}"
            );
        }
    }
}
