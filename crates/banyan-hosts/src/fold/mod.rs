//! From names to the shortest text we know how to find: `r[0-7]c[0-3]` for 32 names.
//!
//! Names that differ in their numbers only are a family. Within a family each name is a row of numbers, and rows are
//! merged into boxes (`boxes.rs`): products of sets of numbers, one set for each place. The text depends on the names
//! only: families stand in the order of their shapes, boxes in the order of their first rows.

mod boxes;

use std::collections::HashMap;

use super::number::{Number, Run};
use boxes::Boxes;

/// Stands in a shape where a name has a number. No name holds it.
const HOLE: char = '[';

/// The names that differ in their numbers only.
struct Family {
    /// What they have in common.
    shape: String,
    /// The numbers of all names, name after name.
    numbers: Vec<Number>,
}

pub(super) fn fold<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut folded = String::new();
    for family in families(names) {
        let pieces: Vec<&str> = family.shape.split(HOLE).collect();
        let dimensions = pieces.len() - 1;
        if dimensions == 0 {
            push_comma(&mut folded);
            folded.push_str(&family.shape);
            continue;
        }
        let boxes = Boxes::merge(family.numbers, dimensions);
        for sides in boxes.iter() {
            push_comma(&mut folded);
            folded.push_str(pieces[0]);
            for (runs, piece) in sides.zip(&pieces[1..]) {
                push_runs(&mut folded, runs);
                folded.push_str(piece);
            }
        }
    }
    folded
}

fn push_comma(folded: &mut String) {
    if !folded.is_empty() {
        folded.push(',');
    }
}

fn push_runs(folded: &mut String, runs: &[Run]) {
    if let [Run { first, last }] = runs
        && first == last
    {
        return first.push_to(folded);
    }
    for (index, run) in runs.iter().enumerate() {
        folded.push(if index == 0 { '[' } else { ',' });
        run.first.push_to(folded);
        if run.first != run.last {
            folded.push('-');
            run.last.push_to(folded);
        }
    }
    folded.push(']');
}

/// Sorts the names into families, and these by their shapes.
fn families<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    let mut by_shape: HashMap<String, usize> = HashMap::new();
    let mut latest = 0;
    let (mut shape, mut numbers) = (String::new(), Vec::new());
    for name in names {
        split(name, &mut shape, &mut numbers);
        // Most names are of the family of the name before.
        if families.get(latest).is_none_or(|family| family.shape != shape) {
            latest = *by_shape.entry(shape.clone()).or_insert_with(|| {
                families.push(Family { shape: shape.clone(), numbers: Vec::new() });
                families.len() - 1
            });
        }
        families[latest].numbers.extend_from_slice(&numbers);
    }
    families.sort_unstable_by(|a, b| a.shape.cmp(&b.shape));
    families
}

/// Takes a name apart. Digits too many to count with stay in the shape.
fn split(name: &str, shape: &mut String, numbers: &mut Vec<Number>) {
    shape.clear();
    numbers.clear();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.bytes().position(|byte| byte.is_ascii_digit()).unwrap_or(rest.len());
        shape.push_str(&rest[..text]);
        rest = &rest[text..];
        let digits = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        match Number::read(&rest.as_bytes()[..digits]) {
            Some(number) => {
                shape.push(HOLE);
                numbers.push(number);
            }
            None => shape.push_str(&rest[..digits]),
        }
        rest = &rest[digits..];
    }
}
