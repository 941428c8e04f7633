//! HTML pages: files in any charset, fields with HTML, and pages beyond the limits.

use crate::sandbox::Sandbox;

/// A distinct article, long enough for a reliable fingerprint.
fn article(name: &str) -> String {
    (0..80)
        .map(|i| format!("<p>{name} number{i} of the story</p>"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn html_files_are_compared_by_their_main_content() {
    let sandbox = Sandbox::new();
    let article = article("kettle");
    sandbox.put(
        "site/a.html",
        format!("<nav>Home News</nav><main>{article}</main><footer>2024</footer>"),
    );
    sandbox.put(
        "site/b.htm",
        format!("<div class=menu>Start</div><div>{article}</div><div class=ad>Buy</div>"),
    );
    sandbox.put(
        "site/c.xhtml",
        format!("<?xml version='1.0'?><html><head><title/></head><body>{article}</body></html>"),
    );
    sandbox.put(
        "site/d.html",
        format!(
            "<nav>Home News</nav><main>{}</main><footer>2024</footer>",
            self::article("teapot")
        ),
    );
    sandbox.run("dedup site -o out --quiet").ok();
    let kept: Vec<bool> = ["a.html", "b.htm", "c.xhtml", "d.html"]
        .iter()
        .map(|name| sandbox.path(&format!("out/kept/{name}")).exists())
        .collect();
    assert_eq!(kept, [true, false, false, true]);
}

#[test]
fn a_page_is_decoded_by_its_own_charset_declaration() {
    let sandbox = Sandbox::new();
    // The same sentence in GBK, named in a meta element, and in UTF-8.
    let gbk: &[u8] = b"\xd6\xd0\xce\xc4\xcd\xf8\xd2\xb3\xb5\xc4\xc4\xda\xc8\xdd\xd4\xda\xd5\xe2\xc0\xef";
    let page = [b"<meta charset=gb2312><p>".as_slice(), gbk, b"</p>"].concat();
    std::fs::write(sandbox.path("a.html"), page).unwrap();
    sandbox.put("b.html", "<p>中文网页的内容在这里</p>");
    sandbox.run("dedup a.html b.html -o out --quiet --strict").ok();
    assert!(sandbox.path("out/removed/b.html").exists());
}

#[test]
fn pages_beyond_the_limits_are_rejected_with_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.put("deep.html", "<div>".repeat(100_000));
    sandbox.put(
        "attributes.html",
        format!("<p {}>text</p>", "a=b ".repeat(1_000_000)),
    );
    let run = sandbox.run("dedup deep.html attributes.html -o out --quiet --strict");
    assert_eq!(run.code, Some(1), "{run:#?}");
    let rejects = std::fs::read_to_string(sandbox.path("out/rejects.jsonl")).unwrap();
    assert_eq!(rejects.lines().count(), 1);
    assert!(
        rejects.contains("deep.html") && rejects.contains("10000 elements"),
        "{rejects}"
    );
}

#[test]
fn the_configuration_of_a_run_on_html_fields_reproduces_it() {
    let sandbox = Sandbox::new();
    sandbox.put(
        "pages.jsonl",
        "{\"html\": \"<p>one</p>\"}\n{\"html\": \"<b>one</b>\"}\n",
    );
    sandbox
        .run("dedup pages.jsonl --html-key html -o out --quiet --strict")
        .ok();
    sandbox
        .run("dedup --config out/config.toml -o again --quiet --strict")
        .ok();
    assert_eq!(
        std::fs::read(sandbox.path("out/kept/pages.jsonl")).unwrap(),
        b"{\"html\": \"<p>one</p>\"}\n"
    );
    assert_eq!(
        std::fs::read(sandbox.path("out/clusters.jsonl")).unwrap(),
        std::fs::read(sandbox.path("again/clusters.jsonl")).unwrap()
    );
    sandbox
        .run("dedup pages.jsonl --html-key html --text-key html -o third")
        .fails(2, &["--html-key"]);
}
