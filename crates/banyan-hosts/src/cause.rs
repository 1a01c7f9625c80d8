//! What the system says when it refuses something, in words.

use std::io;

/// The cause of an error in words, as they stand within a sentence, without the number that the system has for it.
///
/// ```
/// let error = std::fs::read("/dev/null/file").unwrap_err();
/// assert_eq!(banyan_hosts::cause(&error), "not a directory");
/// ```
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    if error.get_ref().is_some() {
        return text;
    }
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::NotFound, _) => "no such file or directory".into(),
        (io::ErrorKind::PermissionDenied, _) => "permission denied".into(),
        (io::ErrorKind::StorageFull, _) => "no space left on the device".into(),
        // For who makes a thread or a process, and nobody else waits for what does not block.
        (io::ErrorKind::WouldBlock, _) => {
            "no process or thread can be added; raise the limit of processes (ulimit -u)".into()
        }
        (_, Some(number)) => within_a_sentence(text.trim_end_matches(&format!(" (os error {number})"))),
        (_, None) => text,
    }
}

fn within_a_sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next();
    first.into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cause_has_a_number() {
        for number in 1..133 {
            let words = cause(&io::Error::from_raw_os_error(number));
            assert!(!words.contains("os error") && !words.starts_with(char::is_uppercase), "{words}");
        }
    }

    #[test]
    fn what_others_than_the_system_say_stays_as_it_is() {
        let error = io::Error::new(io::ErrorKind::PermissionDenied, "Only on Mondays");
        assert_eq!(cause(&error), "Only on Mondays");
    }
}
