//! Rules for the book: its table of contents has every chapter once, and its pictures are shown, and speak to everyone.
//!
//! That what the table of contents and the chapters refer to exists is checked with all other links. Whether a picture is
//! well-formed is not: that needs a parser, and whoever draws one looks at it.

use super::documents::{links, resolved};
use super::{File, Repository};

/// What of the repository is the book.
const BOOK: &str = "docs/";

/// Its table of contents.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Where its pictures are.
const PICTURES: &str = "docs/pictures/";

/// What every picture has, and for whom.
const FOR_EVERYONE: &[(&str, &str)] = &[
    ("<title", "those who cannot see it"),
    ("<desc", "those who cannot see it"),
    ("prefers-color-scheme: dark", "those who read on dark pages"),
];

/// All that is wrong with the book.
pub(super) fn check(repository: &Repository, broken: &mut Vec<String>) {
    let Some(contents) = repository.file(CONTENTS) else {
        broken.push(format!("{CONTENTS} is missing; it lists the chapters of the book"));
        return;
    };
    let chapters = || repository.files.iter().filter(|file| file.path.starts_with(BOOK) && file.is("md"));
    let listed = targets(contents);
    for chapter in chapters().filter(|chapter| chapter.path != CONTENTS) {
        match listed.iter().filter(|path| **path == chapter.path).count() {
            0 => broken.push(format!("{}: no chapter of the book; list it in {CONTENTS}", chapter.path)),
            1 => {}
            _ => broken.push(format!("{CONTENTS}: {} is listed more than once", chapter.path)),
        }
    }
    let shown: Vec<String> = chapters().flat_map(targets).collect();
    for picture in repository.paths.iter().filter(|path| path.starts_with(PICTURES)) {
        if !shown.contains(picture) {
            broken.push(format!("{picture}: no chapter shows it; refer to it or remove it"));
        }
    }
    for picture in repository.files.iter().filter(|file| file.path.starts_with(PICTURES)) {
        for (part, readers) in FOR_EVERYONE.iter().filter(|(part, _)| !picture.text.contains(part)) {
            broken.push(format!("{}: has no `{part}`, for {readers}", picture.path));
        }
    }
}

/// The files that the links of a document lead to.
fn targets(file: &File) -> Vec<String> {
    let paths = links(file).map(|(_, link)| link.split_once('#').map_or(link, |(path, _)| path));
    paths.filter_map(|path| resolved(&file.path, path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: &str = "<title>a</title><desc>b</desc><style>@media (prefers-color-scheme: dark) {}</style>";

    fn broken(files: &[(&str, &str)]) -> Vec<String> {
        let mut broken = Vec::new();
        check(&Repository::of(files), &mut broken);
        broken
    }

    #[test]
    fn a_book_whose_chapters_are_listed_and_whose_pictures_are_shown_is_fine() {
        let files = [
            (CONTENTS, "[Tour](tour.md)\n- [Why](decisions/001.md)\n"),
            ("docs/tour.md", "![a tree](pictures/tree.svg) [why](decisions/001.md#because)"),
            ("docs/decisions/001.md", "# 001\n"),
            ("docs/pictures/tree.svg", PICTURE),
            ("README.md", "no chapter"),
        ];
        assert_eq!(broken(&files), [""; 0]);
    }

    #[test]
    fn a_chapter_that_is_not_listed_or_listed_twice_is_named() {
        let files = [
            (CONTENTS, "[One](one.md)\n- [One](one.md)\n```\n[two](two.md)\n```\n"),
            ("docs/one.md", ""),
            ("docs/two.md", ""),
        ];
        let expected = [
            "docs/SUMMARY.md: docs/one.md is listed more than once",
            "docs/two.md: no chapter of the book; list it in docs/SUMMARY.md",
        ];
        assert_eq!(broken(&files), expected);
    }

    #[test]
    fn a_picture_that_no_chapter_shows_is_named() {
        let files = [
            (CONTENTS, "[One](one.md)"),
            ("docs/one.md", "`pictures/tree.svg` is a picture"),
            ("docs/pictures/tree.svg", PICTURE),
        ];
        assert_eq!(broken(&files), ["docs/pictures/tree.svg: no chapter shows it; refer to it or remove it"]);
    }

    #[test]
    fn a_picture_that_says_nothing_to_some_readers_is_named() {
        let files = [
            (CONTENTS, "[One](one.md)"),
            ("docs/one.md", "![a tree](pictures/tree.svg)"),
            ("docs/pictures/tree.svg", "<title>a</title><desc>b</desc>"),
        ];
        let expected = "docs/pictures/tree.svg: has no `prefers-color-scheme: dark`, for those who read on dark pages";
        assert_eq!(broken(&files), [expected]);
    }
}
