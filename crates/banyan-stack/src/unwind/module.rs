//! Files that are mapped into processes, each opened once however many processes have it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;

use super::compressed::Unpackable;
use super::elf::{Elf, Unwinding};
use super::entries::begin_of;
use super::lines::{Lines, Spot};
use super::symbols::Symbols;
use crate::frame::Frame;
use crate::maps::{FileId, Map};
use crate::trace::read_memory;

/// The kernel's own code in every process, which comes from no file.
const KERNEL_CODE: &str = "[vdso]";

/// It has one page of code, or few.
const MAX_KERNEL_CODE: u64 = 1 << 16;

/// Where systems keep the symbols they strip off programs.
const STRIPPED: &str = "/usr/lib/debug/.build-id";

/// Addresses remembered of a module, with what is there; a program has fewer places that are called from.
const MAX_KNOWN: usize = 1 << 16;

/// A file of code, once for all processes.
pub(super) struct Module {
    /// The last part of its path.
    name: Arc<str>,
    /// As processes that have it see it.
    path: String,
    elf: Elf,
    pub(super) unwinding: Unwinding,
    /// Read when first asked for.
    symbols: Option<Symbols>,
    /// Read when first asked for; nothing where there are none.
    lines: Option<Result<Option<Lines>, Unshown>>,
    /// The root of the file system it was found in.
    root: PathBuf,
    /// What was found at addresses so far.
    known: HashMap<u64, Arc<[Frame]>>,
}

/// Why the lines of a file are not shown, and which file it is: this one, or that with what was stripped off it.
struct Unshown {
    why: Unpackable,
    path: String,
}

/// All files so far.
#[derive(Default)]
pub(super) struct Modules {
    modules: Vec<Module>,
    by_file: HashMap<FileId, usize>,
    kernel: Option<usize>,
}

impl Modules {
    /// The module of a range of memory with code; `None` if it comes from no file, or from one that cannot be opened.
    pub(super) fn find(&mut self, process: u32, map: &Map) -> Option<usize> {
        if map.path == KERNEL_CODE {
            if self.kernel.is_none() {
                self.kernel = Some(self.add(Module::kernel(process, map)?));
            }
            return self.kernel;
        }
        if map.file.inode == 0 {
            return None;
        }
        if let Some(known) = self.by_file.get(&map.file) {
            return Some(*known);
        }
        let file = open(process, map).ok()?;
        let module = Module::new(&map.path, Elf::open(file), format!("/proc/{process}/root").into());
        let at = self.add(module);
        self.by_file.insert(map.file, at);
        Some(at)
    }

    fn add(&mut self, module: Module) -> usize {
        self.modules.push(module);
        self.modules.len() - 1
    }

    pub(super) fn get(&self, at: usize) -> &Module {
        &self.modules[at]
    }

    pub(super) fn get_mut(&mut self, at: usize) -> &mut Module {
        &mut self.modules[at]
    }
}

impl Module {
    fn new(path: &str, elf: Elf, root: PathBuf) -> Module {
        let unwinding = elf.unwinding();
        let (symbols, lines, known) = (None, None, HashMap::new());
        Module { name: module_name(path).into(), path: path.to_owned(), elf, unwinding, symbols, lines, root, known }
    }

    fn kernel(process: u32, map: &Map) -> Option<Module> {
        let mut bytes = vec![0; (map.end - map.start).min(MAX_KERNEL_CODE) as usize];
        let read = read_memory(process, map.start, &mut bytes).ok()?;
        bytes.truncate(read);
        Some(Module::new(KERNEL_CODE, Elf::Bytes(bytes), PathBuf::new()))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What to add to an address of the file to get one in this range of memory.
    pub(super) fn bias(&self, map: &Map) -> Option<u64> {
        let length = map.end - map.start;
        self.unwinding.segments.iter().find_map(|segment| segment.bias(map.start, map.offset, length))
    }

    /// The sections as the unwinder wants them.
    pub(super) fn sections(&self) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
        let unwinding = self.unwinding.clone();
        let (eh_frame_svma, eh_frame) = unwinding.frames.unzip();
        let (eh_frame_hdr_svma, eh_frame_hdr) = unwinding.index.unzip();
        ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: unwinding.text,
            got_svma: unwinding.offsets,
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            debug_frame: unwinding.debug_frames,
            ..ExplicitModuleSectionInfo::default()
        }
    }

    /// What runs at an address of the file: one function, or with lines also those that were inlined into it, the
    /// innermost first.
    pub(super) fn frames(&mut self, address: u64, with_lines: bool) -> Arc<[Frame]> {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let frames: Arc<[Frame]> = self.look_up(address, with_lines).into();
        if self.known.len() < MAX_KNOWN {
            self.known.insert(address, frames.clone());
        }
        frames
    }

    fn look_up(&mut self, address: u64, with_lines: bool) -> Vec<Frame> {
        let symbol = self.symbols().name(address);
        let lines = if with_lines { self.lines() } else { None };
        let mut spots = lines.map(|lines| lines.spots(address)).unwrap_or_default();
        match spots.last_mut() {
            // The symbol of the outermost function is what everybody else calls it.
            Some(outermost) => outermost.function = symbol.or(outermost.function.take()),
            None => spots.push(Spot { function: symbol, line: None }),
        }
        let unnamed = || {
            // Processes that are elsewhere in one function are in the same function.
            let begin = self.unwinding.index.as_ref().and_then(|index| begin_of(index, address)).unwrap_or(address);
            format!("{}+{begin:#x}", self.name)
        };
        let frame = |Spot { function, line }: Spot| Frame {
            function: function.unwrap_or_else(unnamed).into(),
            module: self.name.clone(),
            line: line.map(Into::into),
        };
        spots.into_iter().map(frame).collect()
    }

    fn symbols(&mut self) -> &Symbols {
        if self.symbols.is_none() {
            let stripped = self.stripped().map(|elf| elf.symbols()).filter(|symbols| !symbols.is_empty());
            self.symbols = Some(stripped.unwrap_or_else(|| self.elf.symbols()));
        }
        self.symbols.get_or_insert_default()
    }

    fn lines(&mut self) -> Option<&Lines> {
        if self.lines.is_none() {
            let of = |elf: &Elf, path: &str| Lines::of(elf).map_err(|why| Unshown { why, path: path.to_owned() });
            self.lines = Some(match (of(&self.elf, &self.path), self.stripped_path()) {
                (Ok(None), Some(path)) => self.stripped().map_or(Ok(None), |elf| of(&elf, &path)),
                (own, _) => own,
            });
        }
        self.lines.as_ref()?.as_ref().ok()?.as_ref()
    }

    /// Why its lines are not shown, if they were asked for and are there.
    pub(super) fn note(&self) -> Option<String> {
        let Some(Err(Unshown { why, path })) = &self.lines else { return None };
        let remedy = match why {
            Unpackable::Damaged => format!("build {path} anew, with less in it (-g1) if it is very large"),
            Unpackable::Zstandard | Unpackable::Unknown => {
                format!("make them readable with: objcopy --decompress-debug-sections {path}")
            }
        };
        Some(format!("the lines of {} {why}; {remedy}", self.name))
    }

    /// The file with what was stripped off this one, where a system keeps it.
    fn stripped(&self) -> Option<Elf> {
        open_regular(format!("{}{}", self.root.display(), self.stripped_path()?)).ok().map(Elf::open)
    }

    fn stripped_path(&self) -> Option<String> {
        let id = self.elf.build_id()?;
        let text: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (first, rest) = text.split_at_checked(2)?;
        Some(format!("{STRIPPED}/{first}/{rest}.debug"))
    }
}

/// Opens the file of a range of memory: by its name as the process sees it, or if it is gone or was replaced, by what
/// the kernel keeps of it.
fn open(process: u32, map: &Map) -> io::Result<File> {
    let named = open_regular(format!("/proc/{process}/root{}", map.path));
    if let Some(file) = named.ok().filter(|file| is_it(file, map)) {
        return Ok(file);
    }
    let kept = open_regular(format!("/proc/{process}/map_files/{:x}-{:x}", map.start, map.end));
    kept.or_else(|_| {
        let program = format!("/proc/{process}/exe");
        let is_program = fs::read_link(&program).is_ok_and(|path| path.as_os_str() == map.path.as_str());
        let file = if is_program { open_regular(program)? } else { return Err(io::ErrorKind::NotFound.into()) };
        if is_it(&file, map) { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
    })
}

/// Opens a file, but nothing else: a pipe would wait for its writer, a device might do something.
fn open_regular(path: impl AsRef<Path>) -> io::Result<File> {
    let place = fs::OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)?;
    if !place.metadata()?.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    File::open(format!("/proc/self/fd/{}", place.as_raw_fd()))
}

/// By inode alone: file systems that lie on others tell different devices in different places.
fn is_it(file: &File, map: &Map) -> bool {
    file.metadata().is_ok_and(|facts| facts.is_file() && facts.ino() == map.file.inode)
}

/// The last part of a path, without the mark of files that were removed.
pub(super) fn module_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("[memory]")
}
