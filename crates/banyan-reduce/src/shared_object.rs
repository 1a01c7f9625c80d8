//! Filters from shared objects, written in C or whatever speaks its interface: `include/banyan_filter.h` is the contract.
//!
//! Everything that the object says of itself is checked before it is used, as far as that is possible; that its functions
//! keep to the contract cannot be. An object is never unloaded: its functions may be called for as long as the process
//! lives.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use banyan_ndr::{Buffer, CStruct, ConvertOptions, Format, FormatId, Plan, Type};

use super::{Fault, Filter, FilterError, FilterRole, Filters, Output, Part, Recovery, ReduceError};

const VERSION: u32 = 1;
const ERROR_SIZE: usize = 256;
/// Fields of one struct.
const MOST_FIELDS: usize = 1024;
/// Bytes of one struct: a wave holds one for each child.
const MOST_BYTES: u32 = 1 << 24;
/// Formats whose conversion is remembered.
const MOST_PLANS: usize = 256;
/// The table's name.
const TABLE: &CStr = c"banyan_filter_table";

#[repr(C)]
struct RawField {
    name: *const c_char,
    kind: u32,
    offset: u32,
    width: u32,
    count: u32,
}

#[repr(C)]
struct RawStruct {
    name: *const c_char,
    size: u32,
    align: u32,
    fields: *const RawField,
    field_count: usize,
}

#[repr(C)]
struct RawPart {
    first_rank: u32,
    is_partial: u32,
    member_count: u64,
    record: *const c_void,
}

type Create = unsafe extern "C" fn(*const c_char, usize, *mut *mut c_void, *mut c_char) -> c_int;
type Wave = unsafe extern "C" fn(*mut c_void, *const RawPart, usize, c_int, *mut c_void, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut c_void);

#[repr(C)]
struct RawTable {
    version: u32,
    recovery: u32,
    input: RawStruct,
    output: RawStruct,
    create: Option<Create>,
    wave: Option<Wave>,
    destroy: Option<Destroy>,
}

/// Why a filter could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The object could not be loaded.
    #[error("{}: cannot be loaded: {reason}", path.display())]
    Object {
        /// The object.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// It is not as the header says.
    #[error("{}: is not a filter: {reason}; see banyan_filter.h", path.display())]
    Table {
        /// The object.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// What an object exports, checked.
#[derive(Debug)]
struct Table {
    name: String,
    recovery: Recovery,
    input: Format,
    output: Format,
    create: Create,
    wave: Wave,
    destroy: Destroy,
}

impl Filters {
    /// Brings the filter of a shared object. A name that is known already gets the new one.
    ///
    /// # Errors
    /// If it cannot be loaded, or is no filter.
    ///
    /// # Safety
    /// The object must keep to `include/banyan_filter.h`. Its code becomes part of this process: load only what you trust.
    pub unsafe fn load(&mut self, name: impl Into<String>, path: &Path) -> Result<(), LoadError> {
        let name = name.into();
        // SAFETY: the caller's promise is the same.
        let table = Arc::new(unsafe { Table::load(&name, path)? });
        self.register(name, move |parameters| Ok(Box::new(SharedFilter::new(Arc::clone(&table), parameters)?)));
        Ok(())
    }
}

impl Table {
    /// # Safety
    /// As [`Filters::load`].
    unsafe fn load(name: &str, path: &Path) -> Result<Table, LoadError> {
        let unloadable = |reason: String| LoadError::Object { path: path.into(), reason };
        let c_path = CString::new(path.as_os_str().as_bytes()).map_err(|error| unloadable(error.to_string()))?;
        // SAFETY: the path is terminated; what the object does when it is loaded is the caller's promise.
        let object = unsafe { libc::dlopen(c_path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if object.is_null() {
            return Err(unloadable(last_error()));
        }
        // SAFETY: the object was loaded above, and the name is terminated.
        let table = unsafe { libc::dlsym(object, TABLE.as_ptr()) }.cast::<RawTable>();
        let wrong = |reason: String| LoadError::Table { path: path.into(), reason };
        if table.is_null() || !table.is_aligned() {
            return Err(wrong("it exports no banyan_filter_table".into()));
        }
        // SAFETY: a symbol of this name is such a table, by the caller's promise, and objects are never unloaded.
        let table = unsafe { &*table };
        if table.version != VERSION {
            return Err(wrong(format!("it is of version {}, and this program knows {VERSION}", table.version)));
        }
        let recovery = match table.recovery {
            0 => Recovery::Recomputed,
            1 => Recovery::Idempotent,
            2 => Recovery::Lost,
            other => return Err(wrong(format!("there is no recovery {other}"))),
        };
        // SAFETY: both structs are of the table.
        let (input, output) = unsafe { (describe(&table.input), describe(&table.output)) };
        let (Some(create), Some(wave), Some(destroy)) = (table.create, table.wave, table.destroy) else {
            return Err(wrong("one of its functions is missing".into()));
        };
        let (input, output) = (input.map_err(wrong)?, output.map_err(wrong)?);
        Ok(Table { name: name.into(), recovery, input, output, create, wave, destroy })
    }
}

/// What the system says of the last failure to load.
fn last_error() -> String {
    // SAFETY: it has no arguments; what it gives is terminated, and valid until the next call on this thread.
    let text = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    text.unwrap_or_else(|| "for no reason that the system tells".into())
}

/// The format of a struct. Fails with what is wrong.
///
/// # Safety
/// Its pointers are null, or as the header says.
unsafe fn describe(raw: &RawStruct) -> Result<Format, String> {
    if raw.align as usize > Buffer::ALIGN {
        return Err(format!(
            "a struct wants an alignment of {}; records lie at multiples of {}",
            raw.align,
            Buffer::ALIGN
        ));
    }
    if raw.name.is_null() || raw.fields.is_null() || raw.field_count > MOST_FIELDS || raw.size > MOST_BYTES {
        return Err("a struct has no name, no fields, or too much of them".into());
    }
    // SAFETY: neither is null, so they are a text and as many fields as it says.
    let (name, fields) = unsafe { (text(raw.name), std::slice::from_raw_parts(raw.fields, raw.field_count)) };
    let mut described = CStruct::new(&name, raw.size, raw.align);
    for field in fields {
        if field.name.is_null() {
            return Err(format!("struct {name}: a field has no name"));
        }
        // SAFETY: it is not null, so it is a text.
        let field_name = unsafe { text(field.name) };
        let width = u8::try_from(field.width).map_err(|_| format!("{name}.{field_name}: {} bytes", field.width))?;
        let ty = match field.kind {
            0 => Type::Int { width, signed: true },
            1 => Type::Int { width, signed: false },
            2 => Type::Float { width },
            other => return Err(format!("{name}.{field_name}: there is no kind {other}")),
        };
        described = match field.count {
            1 => described.field(&field_name, field.offset, ty),
            count => described.array(&field_name, field.offset, ty, &[count]),
        };
    }
    described.build().map_err(|error| format!("struct {name}: {error}"))
}

/// # Safety
/// It is a text with its final zero.
unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A filter of a shared object, with its state.
struct SharedFilter {
    table: Arc<Table>,
    state: *mut c_void,
    /// Ways from the formats of parts to its structs.
    plans: Vec<(FormatId, bool, Plan)>,
    /// The parts of a wave, converted.
    records: Vec<Buffer>,
}

// SAFETY: the header promises no more than that one thread at a time uses a state.
unsafe impl Send for SharedFilter {}

impl SharedFilter {
    fn new(table: Arc<Table>, parameters: &[u8]) -> Result<SharedFilter, FilterError> {
        let (mut state, mut error) = (std::ptr::null_mut(), [0; ERROR_SIZE]);
        // SAFETY: the table was checked; all pointers are valid for the call, and there is as much room for the error as
        // the header says.
        let failed =
            unsafe { (table.create)(parameters.as_ptr().cast(), parameters.len(), &raw mut state, error.as_mut_ptr()) };
        if failed != 0 {
            return Err(FilterError::Parameters { name: table.name.clone(), reason: reason(&error) });
        }
        Ok(SharedFilter { table, state, plans: Vec::new(), records: Vec::new() })
    }

    /// Converts the records of a wave to the structs that the filter knows.
    fn convert(&mut self, parts: &[Part<'_>]) -> Result<(), FilterError> {
        if self.records.len() < parts.len() {
            self.records.resize_with(parts.len(), Buffer::new);
        }
        for (position, part) in parts.iter().enumerate() {
            let refused = |fault: Fault| ReduceError::Part { members: part.members.clone(), fault };
            let plan = self.plan(part).map_err(refused)?;
            let converted = self.plans[plan].2.convert(part.body, &mut self.records[position]);
            converted.map_err(|error| refused(error.into()))?;
        }
        Ok(())
    }

    fn plan(&mut self, part: &Part<'_>) -> Result<usize, Fault> {
        let key = (part.format.id(), part.is_partial);
        if let Some(known) = self.plans.iter().position(|(id, is_partial, _)| (*id, *is_partial) == key) {
            return Ok(known);
        }
        let target = if part.is_partial { &self.table.output } else { &self.table.input };
        let plan = Plan::new(part.format, target, &ConvertOptions::default())?;
        if self.plans.len() >= MOST_PLANS {
            self.plans.clear();
        }
        self.plans.push((key.0, key.1, plan));
        Ok(self.plans.len() - 1)
    }
}

impl Filter for SharedFilter {
    fn wave(&mut self, parts: &[Part<'_>], place: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        self.convert(parts)?;
        let raw = |(part, record): (&Part<'_>, &Buffer)| RawPart {
            first_rank: part.members.first().unwrap_or_default(),
            is_partial: u32::from(part.is_partial),
            member_count: part.members.len(),
            record: record.as_ptr().cast(),
        };
        let raw: Vec<RawPart> = parts.iter().zip(&self.records).map(raw).collect();
        let place = match place {
            FilterRole::Member => 0,
            FilterRole::Inner => 1,
            FilterRole::Root => 2,
        };
        let output = out.add(&self.table.output);
        output.set_len(self.table.output.size());
        output.fill(0);
        let mut error = [0; ERROR_SIZE];
        // SAFETY: the state is the filter's own; every part has a whole struct of the kind it says; the output has room for
        // its struct, and the error for what the header says.
        let failed = unsafe {
            (self.table.wave)(
                self.state,
                raw.as_ptr(),
                raw.len(),
                place,
                output.as_mut_ptr().cast(),
                error.as_mut_ptr(),
            )
        };
        match failed {
            0 => Ok(()),
            _ => Err(FilterError::Custom(format!("filter {}: {}", self.table.name, reason(&error)))),
        }
    }

    fn recovery(&self) -> Recovery {
        self.table.recovery
    }
}

impl Drop for SharedFilter {
    fn drop(&mut self) {
        // SAFETY: the state was made by the same table, and is not used again.
        unsafe { (self.table.destroy)(self.state) }
    }
}

/// The text of an error, up to its final zero or the end of its room.
fn reason(error: &[c_char; ERROR_SIZE]) -> String {
    let bytes: Vec<u8> = error.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    match bytes.is_empty() {
        true => "it failed, and does not say why".into(),
        false => String::from_utf8_lossy(&bytes).into_owned(),
    }
}
