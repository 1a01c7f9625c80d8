//! What a text means, and how names are folded, by example.

use banyan_hosts::HostSet;

use crate::{names, set};

#[test]
fn ranges_lists_and_steps_stand_for_their_numbers() {
    assert_eq!(names("n[1-4,7]"), "n1 n2 n3 n4 n7");
    assert_eq!(names("n[0-20/5]"), "n0 n5 n10 n15 n20");
    assert_eq!(names("n[0-20/7]"), "n0 n7 n14");
    assert_eq!(names("n[5]"), "n5");
    assert_eq!(names("n[1-3]-ib.cluster"), "n1-ib.cluster n2-ib.cluster n3-ib.cluster");
    assert_eq!(names("[1-3]"), "1 2 3");
    assert_eq!(names("n[ 1 - 3 , 5 ]"), "n1 n2 n3 n5");
    assert_eq!(names("n[0-10000000000000000/10000000000000000]"), "n0 n10000000000000000");
}

#[test]
fn zeros_in_front_are_part_of_the_name() {
    assert_eq!(names("n[08-12]"), "n08 n09 n10 n11 n12");
    assert_eq!(names("n[8-12]"), "n8 n9 n10 n11 n12");
    assert_eq!(names("n[098-101]"), "n098 n099 n100 n101");
    assert_eq!(names("n[98-101]"), "n98 n99 n100 n101");
    assert_eq!(names("n[01-100/33]"), "n01 n34 n67 n100");
    assert_eq!(names("n1,n01,n[1,01,001]"), "n1 n01 n001");
    assert_ne!(set("n1"), set("n01"));
}

#[test]
fn several_brackets_give_all_combinations_with_the_last_changing_fastest() {
    assert_eq!(names("r[0-1]c[0,2]n[09-10]"), "r0c0n09 r0c0n10 r0c2n09 r0c2n10 r1c0n09 r1c0n10 r1c2n09 r1c2n10");
    assert_eq!(names("n[1-2][3-4]"), "n13 n14 n23 n24");
    assert_eq!(names("10.0.[0-1].[254-255]"), "10.0.0.254 10.0.0.255 10.0.1.254 10.0.1.255");
}

#[test]
fn names_keep_the_order_of_their_first_appearance() {
    assert_eq!(names("b2,a,b1 b2\na\tc"), "b2 a b1 c");
    let hosts = set("n[3,1-2]");
    assert_eq!(hosts.index_of("n1"), Some(1));
    assert_eq!(hosts.get(0), Some("n3"));
    assert_eq!((hosts.index_of("n4"), hosts.get(3)), (None, None));
}

#[test]
fn separators_too_many_mean_nothing() {
    assert_eq!(names(" ,a,, b ,\n,c,\r\n"), "a b c");
    assert!(set("").is_empty());
    assert!(set(" ,\n").is_empty());
}

#[test]
fn operators_work_from_left_to_right() {
    assert_eq!(names("a[1-5]!a3"), "a1 a2 a4 a5");
    assert_eq!(names("a[1-5] ! a[2-3] ! a9"), "a1 a4 a5");
    assert_eq!(names("a[1-9]&a[3-20],b"), "a3 a4 a5 a6 a7 a8 a9 b");
    assert_eq!(names("b,a[1-9]&a[3-4]"), "a3 a4");
    assert_eq!(names("a[1-3]!a[1-2]&a[1-3]"), "a3");
}

#[test]
fn a_host_left_out_and_named_again_comes_last() {
    assert_eq!(names("n[1-3]!n[1-2],n1"), "n3 n1");
    let by_methods = set("n[1-3]").exclude(&set("n[1-2]")).union(&set("n1")).unwrap();
    assert_eq!(by_methods.iter().collect::<Vec<_>>(), ["n3", "n1"]);
    assert_eq!(by_methods.index_of("n1"), Some(1));
}

#[test]
fn users_and_addresses_are_names() {
    assert_eq!(names("root@n[1-2]"), "root@n1 root@n2");
    assert_eq!(names("fe80::1%eth0 ::1"), "fe80::1%eth0 ::1");
    assert_eq!(names("[::1],root@[fe80::1%eth0]"), "::1 root@fe80::1%eth0");
    assert_eq!(names("fd00::[1-2]"), "fd00::1 fd00::2");
}

#[test]
fn names_given_as_such_are_not_expanded() {
    let hosts = HostSet::from_names(["b", "a", "b"]).unwrap();
    assert_eq!(hosts.iter().collect::<Vec<_>>(), ["b", "a"]);
    assert!(HostSet::from_names(["n[1-2]"]).is_err());
}

/// What is written, and how it is folded.
const FOLDED: &[(&str, &str)] = &[
    ("", ""),
    ("n1", "n1"),
    ("n3 n1 n2", "n[1-3]"),
    ("n1 n3", "n[1,3]"),
    ("node[1-128,200],gpu[01-16]", "gpu[01-16],node[1-128,200]"),
    ("n9 n10 n11", "n[9-11]"),
    ("n09 n10 n11", "n[09-11]"),
    ("n9 n09 n10 n010", "n[9,09-10,010]"),
    ("n[1-3] n[01-02]", "n[1-3,01-02]"),
    ("n[01-99] n[100-120]", "n[01-99,100-120]"),
    ("n[0-10000]", "n[0-10000]"),
    ("r[0-7]c[0-3]n[01-64]", "r[0-7]c[0-3]n[01-64]"),
    ("r0c0 r0c1 r1c0", "r0c[0-1],r1c0"),
    ("r[0-1]c[0-2],r2c[0-1]", "r[0-1]c[0-2],r2c[0-1]"),
    ("r[1-2]c[0-2],r0c[0-1],r3c[0-1]", "r[0,3]c[0-1],r[1-2]c[0-2]"),
    ("10.0.[0-3].[1-254]", "10.0.[0-3].[1-254]"),
    ("b a b1 a1", "a,a1,b,b1"),
    ("n1[1-3]", "n[11-13]"),
    ("x00000000000000000001 x00000000000000000002", "x00000000000000000001,x00000000000000000002"),
];

#[test]
fn names_are_folded_into_the_text_people_would_write() {
    for (text, folded) in FOLDED {
        assert_eq!(set(text).to_string(), *folded, "{text}");
    }
}

#[test]
fn a_set_prints_within_other_text() {
    assert_eq!(format!("{:>8}|{:?}", set("n[1-2]"), set("n[1-2]")), "  n[1-2]|HostSet(n[1-2])");
}
