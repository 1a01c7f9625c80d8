//! Tests of single cells against simple models.
