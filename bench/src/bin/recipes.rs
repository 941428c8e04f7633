//! Measures the speed of every kind of fingerprint and of keywords on one thread: `recipes FILE.jsonl…`.
//!
//! The texts are fingerprinted by profiles and by the recipes of other libraries, and keywords are found. Then the features
//! of the texts are given with their weights, and vectors are given. The figure is the CPU time of the median round.

use std::path::PathBuf;
use std::sync::Arc;

use bench::contender::{Contender, measure};
use bench::documents::read;
use bench::table::Table;
use clap::Parser;
use twinprint_fingerprint::HashKey;
use twinprint_fingerprint::hyperplane::Hyperplanes;
use twinprint_text::compat::{Dictionaries, Keywords, Recipe, RecipeFingerprinter};
use twinprint_text::{Analyzer, GivenFeatures, KeywordExtractor, Profile, WeightedFeature};

const PROFILES: [&str; 10] = [
    "tp1-words-lntf-64",
    "tp1-words-lntf-128",
    "tp1-words-lntf.zhen1-64",
    "tp1-wordpairs-lntf-64",
    "tp1-words3-set-64",
    "tp1-words3-set-64+hash.rabin",
    "tp1-chars5-tf-64",
    "tp1-chars5-tf-64+hash.rabin",
    "tp1-chars5-set-64",
    "tp1-chars5-set-64+hash.rabin",
];

/// The numbers of components of the vectors.
const DIMENSIONS: [usize; 3] = [10, 100, 768];

/// Number of components of all vectors with the same number of dimensions.
const COMPONENTS: usize = 4_000_000;

#[derive(Parser)]
#[command(about = "Speed of every kind of fingerprint, on one thread")]
struct Cli {
    /// Documents: JSONL files with the fields id, lang and text.
    #[arg(required = true, value_name = "FILE")]
    docs: Vec<PathBuf>,
    /// Directory of cppjieba's dictionaries, for the recipes that need them.
    #[arg(long, value_name = "DIR")]
    dictionary: Option<PathBuf>,
    /// The first documents of each file are used, up to this number of bytes.
    #[arg(long, default_value_t = 20_000_000)]
    bytes: usize,
    /// Number of rounds. Each contender runs once in a round.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

fn profile(id: &str) -> anyhow::Result<Contender> {
    let mut analyzer = Analyzer::new(&Profile::parse(id)?, HashKey::PUBLIC);
    Ok(Contender::new(id, move |text| analyzer.fingerprint(text) as u64))
}

fn recipe(name: &str, dictionaries: Option<&Arc<Dictionaries>>) -> anyhow::Result<Option<Contender>> {
    let recipe = Recipe::parse(name)?;
    // The texts of seomoz are lists of hashes.
    if recipe == Recipe::Seomoz || recipe.needs_dictionaries() && dictionaries.is_none() {
        return Ok(None);
    }
    let mut fingerprinter = RecipeFingerprinter::new(recipe, dictionaries.cloned())?;
    let run = move |text: &str| fingerprinter.fingerprint(text).map_or(0, |made| made.bits);
    Ok(Some(Contender::new(name, run)))
}

/// A number that depends on all keywords.
fn folded(keywords: &[WeightedFeature]) -> u64 {
    keywords.iter().fold(keywords.len() as u64, |sum, word| {
        sum ^ word.weight.to_bits() ^ word.name.len() as u64
    })
}

fn keywords(dictionaries: Option<&Arc<Dictionaries>>) -> anyhow::Result<Vec<Contender>> {
    let profile = Profile::parse("tp1-words-lntf.zhen1-64")?;
    let mut extractor = KeywordExtractor::new(&profile, HashKey::PUBLIC)?;
    let mut contenders = vec![Contender::new("5 keywords, table zhen1", move |text| {
        folded(&extractor.keywords(text, 5))
    })];
    if let Some(dictionaries) = dictionaries {
        let mut fingerprinter =
            RecipeFingerprinter::new(Recipe::Cppjieba(Keywords::Top(5)), Some(Arc::clone(dictionaries)))?;
        contenders.push(Contender::new("5 keywords, cppjieba", move |text| {
            let keywords = fingerprinter.keywords(text, Keywords::Top(5));
            keywords.iter().fold(0, |sum, word| sum ^ word.weight.to_bits())
        }));
    }
    Ok(contenders)
}

/// Measures contenders whose inputs are not texts: input number i of `inputs` is text number i, a number.
fn given<T: 'static>(name: String, inputs: Vec<T>, mut run: impl FnMut(&T) -> u64 + 'static) -> Contender {
    Contender::new(name, move |text| {
        text.parse()
            .ok()
            .and_then(|i: usize| inputs.get(i))
            .map_or(0, &mut run)
    })
}

fn features(texts: &[&str]) -> anyhow::Result<Vec<Contender>> {
    let default = Profile::default_for(64)?;
    let mut analyzer = Analyzer::new(&default, HashKey::PUBLIC);
    let mut lists = Vec::with_capacity(texts.len());
    for text in texts {
        let listed = analyzer.votes(text)?.features.into_iter();
        lists.push(listed.map(|voting| voting.feature).collect::<Vec<_>>());
    }
    let rabin = Profile::parse("tp1-words-lntf-64+hash.rabin")?;
    let rules = [
        (
            "features, SipHash, 64 bits",
            GivenFeatures::of_profile(&default, HashKey::PUBLIC),
        ),
        (
            "features, SipHash, 128 bits",
            GivenFeatures::of_profile(&Profile::default_for(128)?, HashKey::PUBLIC),
        ),
        (
            "features, Rabin, 64 bits",
            GivenFeatures::of_profile(&rabin, HashKey::PUBLIC),
        ),
        ("features, 1e0ng", GivenFeatures::of_recipe(Recipe::Leon)?),
    ];
    Ok(rules
        .into_iter()
        .map(|(name, rules)| {
            given(
                name.to_owned(),
                lists.clone(),
                move |list: &Vec<WeightedFeature>| {
                    rules
                        .votes(list.clone())
                        .map_or(0, |votes| votes.fingerprint as u64)
                },
            )
        })
        .collect())
}

fn vectors(dimensions: usize) -> (usize, Vec<Contender>) {
    let mut random = fastrand::Rng::with_seed(1);
    let count = COMPONENTS / dimensions;
    let vector = |_| -> Vec<f32> { (0..dimensions).map(|_| random.f32() - 0.5).collect() };
    let vectors: Vec<Vec<f32>> = (0..count).map(vector).collect();
    let contender = |bits| {
        let mut hyperplanes = Hyperplanes::new(HashKey::PUBLIC, bits);
        let name = format!("vectors, {dimensions} dimensions, {bits} bits");
        given(name, vectors.clone(), move |vector| {
            hyperplanes
                .of_dense(vector)
                .map_or(0, |votes| votes.fingerprint as u64)
        })
    };
    (count, [64, 128].map(contender).into())
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let dictionaries = cli
        .dictionary
        .as_deref()
        .map(Dictionaries::open)
        .transpose()?
        .map(Arc::new);
    for path in &cli.docs {
        let documents = read(path)?;
        let mut bytes = 0;
        let texts: Vec<&str> = documents
            .iter()
            .map(|document| document.text.as_str())
            .take_while(|text| {
                bytes += text.len();
                bytes <= cli.bytes
            })
            .collect();
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let name = path.file_name().unwrap_or_default().display();
        println!(
            "{name}: {} documents, {:.1} MB of text, one thread\n",
            texts.len(),
            bytes as f64 / 1e6
        );
        let mut contenders = PROFILES
            .into_iter()
            .map(profile)
            .collect::<anyhow::Result<Vec<_>>>()?;
        for name in Recipe::names() {
            contenders.extend(recipe(name, dictionaries.as_ref())?);
        }
        contenders.extend(keywords(dictionaries.as_ref())?);
        let mut table = Table::new(["fingerprints of texts", "MB/s", "documents/s"]);
        let seconds = measure(&mut contenders, &texts, cli.rounds);
        for (contender, own) in contenders.iter().zip(seconds) {
            table.row([
                contender.name.clone(),
                format!("{:.1}", bytes as f64 / own / 1e6),
                format!("{:.0}", texts.len() as f64 / own),
            ]);
        }
        println!("{table}");
        print_given(&mut features(&texts)?, texts.len(), cli.rounds);
    }
    for dimensions in DIMENSIONS {
        let (count, mut contenders) = vectors(dimensions);
        print_given(&mut contenders, count, cli.rounds);
    }
    Ok(())
}

/// Measures contenders of `count` given inputs.
fn print_given(contenders: &mut [Contender], count: usize, rounds: usize) {
    let numbers: Vec<String> = (0..count).map(|i| i.to_string()).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let mut table = Table::new(["given", "records/s", "µs a record"]);
    let seconds = measure(contenders, &numbers, rounds);
    for (contender, own) in contenders.iter().zip(seconds) {
        table.row([
            contender.name.clone(),
            format!("{:.0}", numbers.len() as f64 / own),
            format!("{:.1}", own / numbers.len() as f64 * 1e6),
        ]);
    }
    println!("{table}");
}
