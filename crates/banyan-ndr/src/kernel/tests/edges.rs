//! The edges of numbers and of sizes.

use super::super::direct::Direct;
use super::super::interpret::Isa;
use super::super::{Kernel, StepErrorKind};
use super::{agree, every, oracle};
use crate::ByteOrder;
use crate::kernel::program::{Instruction, Loss, Number, NumberKind, Program};
use crate::wire::write_uint;

fn numbers() -> Vec<Number> {
    let widths = |kind, widths: &[u8]| -> Vec<(NumberKind, u8)> { widths.iter().map(|width| (kind, *width)).collect() };
    let kinds = [
        widths(NumberKind::Unsigned, &[1, 2, 4, 8, 16]),
        widths(NumberKind::Signed, &[1, 2, 4, 8, 16]),
        widths(NumberKind::Float, &[2, 4, 8]),
        widths(NumberKind::Bool, &[1, 4]),
    ];
    // Odd ones little, even ones big, so that both orders meet.
    let order = |i: usize| if i.is_multiple_of(2) { ByteOrder::Big } else { ByteOrder::Little };
    kinds.concat().into_iter().enumerate().map(|(i, (kind, width))| Number { kind, width, order: order(i) }).collect()
}

/// Bit patterns around everything that can go wrong, of 16 bytes each.
fn patterns(from: Number) -> Vec<u128> {
    let mut values = Vec::new();
    for bit in 0..128 {
        for near in [0, 1, u128::MAX] {
            values.push((1_u128 << bit).wrapping_add(near));
            values.push((1_u128 << bit).wrapping_neg().wrapping_add(near));
        }
    }
    if from.kind == NumberKind::Float {
        let special = [0.5, 1.0, 1.5, 255.0, 255.5, 256.0, 65504.0, 65519.0, 65520.0, 0.1, 1e10, 1e300, f64::MAX];
        let powers = [7, 8, 15, 16, 23, 24, 31, 32, 53, 63, 64, 126, 127, 128].map(|power| 2f64.powi(power));
        let limits = [f64::from(f32::MAX), f64::MIN_POSITIVE, f64::INFINITY, f64::NAN, 5e-324];
        for value in special.into_iter().chain(powers).chain(limits) {
            for value in [value, -value, value.next_up(), -value.next_down()] {
                values.push(match from.width {
                    2 => crate::half::from_f64(value).into(),
                    4 => (value as f32).to_bits().into(),
                    _ => value.to_bits().into(),
                });
            }
        }
    }
    values
}

fn conversion(from: Number, to: Number, loss: Loss) -> Program {
    let (src_size, dst_size) = (usize::from(from.width), usize::from(to.width));
    let steps = vec![Instruction::Number { src: 0, dst: 0, count: 1, from, to, loss, path: 0 }];
    Program { src_size, dst_size, steps, paths: vec!["x".to_string()] }
}

#[test]
fn every_conversion_of_numbers_follows_the_rules_of_loss_at_its_edges() {
    for (from, to) in numbers().into_iter().flat_map(|from| numbers().into_iter().map(move |to| (from, to))) {
        for loss in [Loss::Error, Loss::Saturate] {
            let program = conversion(from, to, loss);
            let kernel = Kernel::new(program.clone());
            let generated = kernel.compile();
            for bits in patterns(from).into_iter().step_by(every()) {
                let mut src = vec![0; usize::from(from.width)];
                write_uint(&mut src, bits, from.order);
                let expected = oracle::run(&program, &src, 1);
                let mut dst = vec![0; usize::from(to.width)];
                let found = kernel.run_on(Isa::PORTABLE, &src, &mut dst, 1).map(|()| dst.clone());
                assert_eq!(found, expected, "{from:?} {bits:#x} to {to:?}, {loss:?}");
                let found = kernel.run(&src, &mut dst, 1).map(|()| dst.clone());
                assert_eq!(found, expected, "{from:?} {bits:#x} to {to:?}, {loss:?}, generated: {generated}");
            }
        }
    }
}

fn converted(from: (NumberKind, &[u8]), to: (NumberKind, u8), loss: Loss) -> Result<Vec<u8>, StepErrorKind> {
    let order = ByteOrder::Big;
    let from_number = Number { kind: from.0, width: from.1.len() as u8, order };
    let program = conversion(from_number, Number { kind: to.0, width: to.1, order }, loss);
    agree(&program, from.1, 1).map_err(|error| error.kind)
}

#[test]
fn a_number_out_of_range_is_an_error_that_names_it_or_saturates() {
    use NumberKind::{Bool, Float, Signed, Unsigned};
    let wide = 300_u16.to_be_bytes();
    let error = |value: &str, wanted: &str| {
        Err(StepErrorKind::OutOfRange { value: value.to_string(), wanted: wanted.to_string() })
    };
    assert_eq!(converted((Unsigned, &wide), (Unsigned, 1), Loss::Error), error("300", "u8"));
    assert_eq!(converted((Unsigned, &wide), (Unsigned, 1), Loss::Saturate), Ok(vec![255]));
    assert_eq!(converted((Signed, &[0x80]), (Unsigned, 4), Loss::Error), error("-128", "u32"));
    assert_eq!(converted((Signed, &[0x80]), (Signed, 2), Loss::Error), Ok(vec![0xff, 0x80]));
    assert_eq!(converted((Unsigned, &[2]), (Bool, 1), Loss::Error), error("2", "bool"));
    assert_eq!(converted((Unsigned, &[2]), (Bool, 1), Loss::Saturate), Ok(vec![1]));
    assert_eq!(converted((Bool, &[2]), (Unsigned, 2), Loss::Error), Ok(vec![0, 1]));
    let half = 2.5_f64.to_be_bytes();
    assert_eq!(converted((Float, &half), (Signed, 1), Loss::Error), error("2.5", "i8"));
    assert_eq!(converted((Float, &half), (Signed, 1), Loss::Saturate), Ok(vec![2]));
    let odd = ((1_u32 << 24) + 1).to_be_bytes();
    assert_eq!(converted((Unsigned, &odd), (Float, 4), Loss::Error), error("16777217", "f32"));
    assert_eq!(converted((Unsigned, &odd), (Float, 4), Loss::Saturate), Ok(16_777_216_f32.to_be_bytes().to_vec()));
    let huge = (-1e300_f64).to_be_bytes();
    assert_eq!(converted((Float, &huge), (Float, 4), Loss::Saturate), Ok(f32::MIN.to_be_bytes().to_vec()));
    assert!(converted((Float, &huge), (Float, 4), Loss::Error).is_err());
    assert_eq!(converted((Float, &0.1_f64.to_be_bytes()), (Float, 4), Loss::Error), Ok(0.1_f32.to_be_bytes().to_vec()));
    assert_eq!(converted((Float, &f64::NAN.to_be_bytes()), (Signed, 4), Loss::Saturate), Ok(vec![0; 4]));
}

#[test]
fn the_first_failing_item_and_step_is_reported() {
    let order = ByteOrder::Little;
    let number = |width| Number { kind: NumberKind::Unsigned, width, order };
    let narrow = |at: u32, path| {
        let (src, dst, loss) = (2 * at, at, Loss::Error);
        Instruction::Number { src, dst, count: 1, from: number(2), to: number(1), loss, path }
    };
    let paths = vec!["a".to_string(), "b".to_string()];
    let program = Program { src_size: 4, dst_size: 2, steps: vec![narrow(0, 0), narrow(1, 1)], paths };
    let mut src = vec![0; 4 * 9];
    (src[4 * 5 + 3], src[4 * 7 + 1]) = (1, 1);
    let error = agree(&program, &src, 9).unwrap_err();
    assert_eq!((error.item, error.path), (5, 1));
}

#[test]
fn items_of_every_size_are_swapped_and_moved() {
    for size in (1..=200).step_by(every()) {
        // One gap before, one behind, and numbers of the widest width that fits, the rest copied.
        let mut steps = Vec::new();
        let mut at = 0;
        for width in [16, 8, 4, 2, 1].into_iter().cycle() {
            if at == size {
                break;
            }
            if u32::from(width) <= size - at {
                let (src, dst) = (at + 3, at);
                steps.push(match width {
                    1 => Instruction::Copy { src, dst, len: 1 },
                    _ => Instruction::Swap { src, dst, width, count: 1 },
                });
                at += u32::from(width);
            }
        }
        let program = Program { src_size: size as usize + 5, dst_size: size as usize, steps, paths: Vec::new() };
        for count in [0, 1, 2, 33] {
            let src: Vec<u8> = (0..program.src_size * count).map(|i| (i % 253) as u8).collect();
            agree(&program, &src, count).unwrap();
        }
    }
}

#[test]
fn a_whole_copy_is_known_as_one_even_field_by_field() {
    let steps = (0..6).map(|i| Instruction::Copy { src: 4 * i, dst: 4 * i, len: 4 }).collect();
    let kernel = Kernel::new(Program { src_size: 24, dst_size: 24, steps, paths: Vec::new() });
    assert_eq!(kernel.merged.one, [Instruction::Copy { src: 0, dst: 0, len: 24 }]);
    assert!(!kernel.pays(), "one call of memcpy does it");
}

#[test]
fn a_target_that_is_a_part_of_the_source_is_copied_directly() {
    let steps = vec![Instruction::Copy { src: 8, dst: 0, len: 24 }];
    let program = Program { src_size: 40, dst_size: 24, steps, paths: Vec::new() };
    assert!(matches!(Kernel::new(program.clone()).direct, Some(Direct::Copy { start: 8, .. })));
    for count in [1, 3] {
        let src: Vec<u8> = (0..40 * count).collect();
        agree(&program, &src, usize::from(count)).unwrap();
    }
}

#[test]
fn an_array_of_records_of_swapped_numbers_is_six_windows_an_element() {
    let element = vec![
        Instruction::Swap { src: 0, dst: 0, width: 4, count: 2 },
        Instruction::Swap { src: 8, dst: 8, width: 8, count: 6 },
        Instruction::Swap { src: 56, dst: 56, width: 4, count: 6 },
        Instruction::Swap { src: 80, dst: 80, width: 8, count: 1 },
        Instruction::Swap { src: 88, dst: 88, width: 2, count: 2 },
        Instruction::Swap { src: 92, dst: 92, width: 4, count: 1 },
    ];
    let steps = vec![Instruction::Repeat { src: 0, dst: 0, count: 10, src_stride: 96, dst_stride: 96, steps: element }];
    let kernel = Kernel::new(Program { src_size: 960, dst_size: 960, steps, paths: Vec::new() });
    let [Instruction::Repeat { steps, .. }] = &*kernel.merged.one else { panic!("{:?}", kernel.merged) };
    assert!(matches!(&**steps, [Instruction::Shuffle { windows }] if windows.len() == 6), "{steps:?}");
}

#[test]
#[should_panic(expected = "writes to byte 5 of 4")]
fn a_program_that_leaves_its_item_is_refused() {
    let steps = vec![Instruction::Copy { src: 0, dst: 1, len: 4 }];
    Kernel::new(Program { src_size: 8, dst_size: 4, steps, paths: Vec::new() });
}

#[test]
#[should_panic(expected = "target is not 2 items")]
fn a_run_on_a_target_of_another_length_is_refused() {
    let steps = vec![Instruction::Swap { src: 0, dst: 0, width: 4, count: 1 }];
    let kernel = Kernel::new(Program { src_size: 4, dst_size: 4, steps, paths: Vec::new() });
    kernel.compile();
    let _ = kernel.run(&[0; 8], &mut [0; 7], 2);
}
