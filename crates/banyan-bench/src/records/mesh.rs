//! The plain record: a mesh of finite elements, as in the PBIO papers. No references, no padding.

use banyan_ndr::Record;

/// One element: 96 bytes.
#[derive(Record, Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct Elem {
    /// Number of the element.
    pub id: i32,
    /// Its material.
    pub material: i32,
    /// Where it is.
    pub coord: [f64; 3],
    /// How far it moved.
    pub disp: [f64; 3],
    /// Stress tensor.
    pub stress: [f32; 6],
    /// Strain energy.
    pub energy: f64,
    /// Flags.
    pub flags: i16,
    /// Nodes of the element.
    pub node_count: i16,
    /// Temperature.
    pub temp: f32,
}

impl Elem {
    /// An element with distinct values everywhere.
    pub fn sample(index: usize) -> Elem {
        let x = index as f64;
        Elem {
            id: index as i32,
            material: (index % 7) as i32,
            coord: [x, x + 0.25, x + 0.5],
            disp: [x / 1024.0, x / 512.0, x / 256.0],
            stress: std::array::from_fn(|component| (index * 6 + component) as f32 * 0.5),
            energy: x * x,
            flags: (index % 100) as i16,
            node_count: 8,
            temp: 293.0 + x as f32 / 128.0,
        }
    }
}

macro_rules! mesh {
    ($(#[$doc:meta])* $name:ident, $elements:literal) => {
        $(#[$doc])*
        #[derive(Record, Debug, Clone, PartialEq)]
        #[repr(C)]
        pub struct $name {
            /// Time step.
            pub step: i32,
            /// Rank of the writer.
            pub rank: i32,
            /// Simulated time.
            pub time: f64,
            /// Length of the step.
            pub dt: f64,
            /// Which mesh.
            pub mesh_id: i64,
            /// Its elements.
            pub e: [Elem; $elements],
        }

        impl $name {
            /// A mesh with distinct values everywhere, on the heap.
            pub fn sample() -> Box<$name> {
                let e = std::array::from_fn(Elem::sample);
                Box::new($name { step: 17, rank: 3, time: 0.5, dt: 1e-3, mesh_id: 1 << 40, e })
            }
        }
    };
}

mesh!(
    /// 992 bytes.
    Mesh10,
    10
);
mesh!(
    /// 10,016 bytes.
    Mesh104,
    104
);
mesh!(
    /// 99,872 bytes.
    Mesh1040,
    1040
);
