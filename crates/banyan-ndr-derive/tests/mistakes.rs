//! What the derive macro says about types that cannot be records.

#[test]
fn mistakes_are_explained_where_they_stand() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
