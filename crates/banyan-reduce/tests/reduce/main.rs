//! Reductions from outside: what comes out at the root of any tree, of records of any layout.

mod arrays;
mod bounds;
mod filters;
mod generate;
mod hostile;
mod kinds;
mod member;
mod missing;
mod model;
mod numbers;
mod specification;
mod tree;
mod trees;
