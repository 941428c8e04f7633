//! Completions and manual pages contain every command and every option, because they are generated from the same list.

use crate::sandbox::Sandbox;

/// The long options that a command's help lists.
fn options(help: &str) -> Vec<&str> {
    let words = help.lines().map(str::trim).filter(|line| line.starts_with('-'));
    words
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")))
        .map(|word| word.split(['=', '[', ',']).next().unwrap())
        .collect()
}

#[test]
fn completions_contain_every_option() {
    let sandbox = Sandbox::new();
    let help = sandbox.run("dedup --help").ok().stdout;
    let options = options(&help);
    assert!(
        options.len() > 20 && options.contains(&"--threshold"),
        "{options:?}"
    );
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef twinprint"),
        ("fish", "complete -c twinprint"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = sandbox.run(&format!("completions {shell}")).ok().stdout;
        assert!(script.contains(mark), "{shell}");
        for option in &options {
            assert!(
                script.contains(option.trim_start_matches('-')),
                "{shell}: {option}"
            );
        }
    }
    let bash = "source <(twinprint completions bash)
        COMP_WORDS=(twinprint dedup --thresh); COMP_CWORD=2; _twinprint twinprint --thresh dedup; echo ${COMPREPLY[@]}";
    assert_eq!(sandbox.bash(bash).ok().stdout, "--threshold\n");
    sandbox
        .run("completions tcsh")
        .fails(2, &["bash", "zsh", "fish", "powershell"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run("man pages/man1").ok().stdout;
    let pages = sandbox.tree("pages/man1");
    for name in pages.keys() {
        assert!(
            listed.contains(&format!("pages/man1/{name}\n")),
            "{name}: {listed}"
        );
    }
    assert_eq!(listed.lines().count(), pages.len());
    for command in ["dedup", "fingerprint", "compare"] {
        let page = String::from_utf8_lossy(&pages[&format!("twinprint-{command}.1")]).replace('\\', "");
        let help = sandbox.run(&format!("{command} --help")).ok().stdout;
        for option in options(&help) {
            assert!(page.contains(option), "{command}: {option}");
        }
        assert!(page.contains("Examples:"), "{page}");
    }
    sandbox.put("file", "");
    sandbox.run("man file").fails(1, &["file", "cannot be written"]);
}
