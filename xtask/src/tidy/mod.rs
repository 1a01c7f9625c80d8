//! The mechanical rules of the repository: each is a function from its files to a list of what breaks it.
//!
//! What `rustfmt`, `rustc` or `clippy` check is not checked here again, except where a crate outside the workspace
//! would escape them. The rules look at text, not at syntax trees: they are exact for code that `rustfmt` has laid out.

mod book;
mod documents;
mod machine;
mod names;
mod packages;
mod source;

use std::path::Path;

/// Directories that hold nothing of ours.
const SKIPPED: &[&str] = &["target", ".git", "artifacts"];

/// A file of the repository.
pub(crate) struct File {
    /// Its path from the top of the repository, with `/` between the parts.
    pub(crate) path: String,
    /// What is in it; files that are not text are not read.
    pub(crate) text: String,
}

impl File {
    fn is(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, end)| end == extension)
    }

    /// Each line with its number.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// The text files of the repository.
pub(crate) struct Repository {
    pub(crate) files: Vec<File>,
    /// All paths, those of other files and of directories too.
    paths: Vec<String>,
}

impl Repository {
    /// Reads everything below `root`.
    pub(crate) fn read(root: &Path) -> Result<Repository, String> {
        let mut repository = Repository { files: Vec::new(), paths: Vec::new() };
        repository.read_directory(root, "").map_err(|error| format!("{}: {error}", root.display()))?;
        repository.files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(repository)
    }

    fn read_directory(&mut self, directory: &Path, prefix: &str) -> std::io::Result<()> {
        for entry in directory.read_dir()? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                self.read_directory(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file()
                && let Ok(text) = std::fs::read_to_string(entry.path())
            {
                self.files.push(File { path: path.clone(), text });
            }
            self.paths.push(path);
        }
        Ok(())
    }

    /// All that breaks a rule, as lines that name file, line and rule.
    pub(crate) fn check(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for file in &self.files {
            if file.is("rs") {
                source::check(file, &mut broken);
            }
            if file.is("md") {
                documents::check_links(self, file, &mut broken);
                documents::check_commands(file, &mut broken);
            }
            machine::check(file, &mut broken);
        }
        documents::check_dependencies(self, &mut broken);
        documents::check_security(self, &mut broken);
        book::check(self, &mut broken);
        packages::check(self, &mut broken);
        names::check(self, &mut broken);
        broken
    }

    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

#[cfg(test)]
impl Repository {
    /// A repository of these files.
    fn of(files: &[(&str, &str)]) -> Repository {
        let files = files.iter().map(|(path, text)| File { path: (*path).into(), text: (*text).into() });
        let files: Vec<File> = files.collect();
        let paths = files.iter().map(|file| file.path.clone()).collect();
        Repository { files, paths }
    }
}
