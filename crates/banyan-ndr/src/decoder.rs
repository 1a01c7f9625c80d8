//! Receiving: from a format id and a body to a value, by the shortest way there is.
//!
//! A [`Decoder`] knows formats by their ids. The first record of a format decides, once, how records of that format
//! become values of the type asked for; the decision is one hash look-up away for every later record:
//!
//! 1. the sender's layout is the receiver's: the body is viewed or read where it lies;
//! 2. it is not: a [`Plan`] converts the body into memory that the decoder owns and reuses, from where it is viewed or
//!    read. Plans start out interpreted; machine code is generated when the bytes converted so far show that it pays;
//! 3. a [`Morph`] has rules for what the sender lacks that a plan cannot express (computed or nested fields): the record
//!    takes the way through [`DynRecord`](crate::DynRecord), after a plan where fields of the record itself are computed;
//! 4. there is no way: the error is remembered, so that a sender nobody understands costs no more than others.

use std::collections::HashMap;

use crate::morph::Partial;
use crate::typed::{Read, Record, read_native_into_to_depth, read_native_to_depth, view_native};
use crate::wire::{HEADER_BYTES, Header};
use crate::{Buffer, ConvertOptions, DecodeError, Format, FormatId, Limits, Loss, Morph, Plan, RecordView};

/// Bytes that one conversion interprets before machine code is generated for it. Generating takes about as long as
/// interpreting this much.
const PAYS_AFTER: usize = 256 << 10;

/// When machine code is generated for a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Generate {
    /// When enough was converted for it to pay: after the second record of a format at the earliest, however long.
    #[default]
    WhenItPays,
    /// With the first record.
    AtOnce,
    /// Never: plans are interpreted.
    Never,
}

/// How a [`Decoder`] decodes.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Bounds on what comes from outside.
    pub limits: Limits,
    /// What happens to numbers that do not fit.
    pub loss: Loss,
    /// Whether fixed arrays may be cut to the receiver's length.
    pub cut_arrays: bool,
    /// When to generate machine code.
    pub generate: Generate,
}

crate::setters!(DecodeOptions { limits: Limits, loss: Loss, cut_arrays: bool, generate: Generate });

/// Decodes records of all formats it has learnt.
///
/// ```
/// use banyan_ndr::{Decoder, Record, Scratch, encode};
///
/// #[derive(Record, Debug, PartialEq)]
/// struct Reading<'a> {
///     sensor: &'a str,
///     celsius: f64,
/// }
///
/// let reading = Reading { sensor: "inlet", celsius: 21.5 };
/// let mut scratch = Scratch::default();
/// let message = encode(&reading, &mut scratch)?.to_buffer();
///
/// let mut decoder = Decoder::new();
/// decoder.learn(Reading::format())?;
/// assert_eq!(decoder.decode_message::<Reading<'_>>(&message)?, reading);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    options: DecodeOptions,
    formats: HashMap<FormatId, Format, foldhash::fast::RandomState>,
    morphs: Vec<Morph>,
    ways: HashMap<FormatPair, Way, foldhash::fast::RandomState>,
    /// The route taken last: most records are of the same formats as the one before.
    last: Option<(FormatPair, u32)>,
    routes: Vec<Route>,
    converted: Buffer,
}

/// The formats of sender and receiver, the latter by its [receiving id](Format::receiving_id).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FormatPair {
    source: FormatId,
    target: FormatId,
}

/// How records of one format become records of another.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// They are the same.
    Same,
    /// By the decoder's route of this number.
    Through(u32),
}

/// What turns records of one format into records of another.
#[derive(Debug)]
enum Route {
    /// A plan, for which machine code is generated after so many bytes more; 0 is never again.
    Convert { plan: Plan, interpreted_bytes_left: usize },
    /// A plan, and fields of the record itself that are computed.
    Compute(Box<Partial>),
    /// Rules for fields within others.
    Morph { source: Format, target: Format, morph: Morph },
    /// None: why not.
    Refuse(DecodeError),
}

impl Decoder {
    /// A decoder with default options that knows no format.
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// A decoder that knows no format.
    pub fn with_options(options: DecodeOptions) -> Decoder {
        Decoder { options, ..Decoder::default() }
    }

    /// Makes a format known.
    pub fn learn(&mut self, format: &Format) -> Result<FormatId, DecodeError> {
        if self.formats.len() >= self.options.limits.formats && !self.formats.contains_key(&format.id()) {
            return Err(DecodeError::TooManyFormats(self.options.limits.formats));
        }
        self.formats.entry(format.id()).or_insert_with(|| format.clone());
        Ok(format.id())
    }

    /// Makes a format known from its canonical encoding.
    pub fn learn_encoded(&mut self, encoded: &[u8]) -> Result<FormatId, DecodeError> {
        self.learn(&Format::decode(encoded, &self.options.limits)?)
    }

    /// Registers rules beside those that were registered before. All that [apply](Morph::applies_to) to a format count
    /// for its records; of two rules for the same field the later. Conversions decided before are decided anew.
    pub fn morph(&mut self, morph: Morph) {
        self.morphs.push(morph);
        self.ways.clear();
        self.last = None;
        self.routes.clear();
    }

    /// A format it has learnt.
    pub fn format(&self, id: FormatId) -> Option<&Format> {
        self.formats.get(&id)
    }

    /// Decodes a body into a value, which may borrow from the body or from this decoder.
    ///
    /// Values of a recursive type are at most [`Limits::depth`] deep, because Rust drops them by recursion: raise it for
    /// a type whose `Drop` works iteratively.
    #[inline]
    pub fn decode<'a, T: Record + Read<'a>>(&'a mut self, id: FormatId, body: &'a [u8]) -> Result<T, DecodeError> {
        if self.make_native(id, T::format(), body)? {
            return read_native_to_depth(&self.converted, self.options.limits.depth);
        }
        match read_native_to_depth(body, self.options.limits.depth) {
            // What must be borrowed does not lie well where it is: give it a better place.
            Err(DecodeError::Misaligned { .. }) => {}
            result => return result,
        }
        self.converted.clear();
        self.converted.extend_from_slice(body);
        read_native_to_depth(&self.converted, self.options.limits.depth)
    }

    /// Decodes a body into a value that is already there, reusing its memory. The value borrows nothing from the
    /// decoder, so that records can follow one another.
    pub fn decode_into<T: Record + for<'b> Read<'b>>(
        &mut self,
        id: FormatId,
        body: &[u8],
        value: &mut T,
    ) -> Result<(), DecodeError> {
        if self.make_native(id, T::format(), body)? {
            return read_native_into_to_depth(value, &self.converted, self.options.limits.depth);
        }
        read_native_into_to_depth(value, body, self.options.limits.depth)
    }

    /// Views a body as a record that has no references: in place when the layouts agree, converted otherwise.
    #[inline]
    pub fn view<'a, T: Record>(&'a mut self, id: FormatId, body: &'a [u8]) -> Result<&'a T, DecodeError> {
        if self.make_native(id, T::format(), body)? {
            return view_native(&self.converted);
        }
        if body.as_ptr().addr().is_multiple_of(T::ALIGN) {
            return view_native(body);
        }
        self.converted.clear();
        self.converted.extend_from_slice(body);
        view_native(&self.converted)
    }

    /// Decodes a message: header and body.
    pub fn decode_message<'a, T: Record + Read<'a>>(&'a mut self, message: &'a [u8]) -> Result<T, DecodeError> {
        let (header, body) = split_message(message)?;
        self.decode(header.format, body)
    }

    /// Converts a body into the layout of `target`, known here only by its description. What is not in `target` is
    /// not touched: make one with [`Format::project`] to read some fields of large records.
    pub fn convert<'a>(
        &'a mut self,
        id: FormatId,
        body: &'a [u8],
        target: &'a Format,
    ) -> Result<RecordView<'a>, DecodeError> {
        let bytes = if self.make_native(id, target, body)? { &self.converted[..] } else { body };
        RecordView::new(target, bytes)
    }

    /// Generates machine code now for records of format `id` decoded to `target`, instead of when it pays. False
    /// where there is nothing to generate or this machine has no code generator.
    pub fn compile(&mut self, id: FormatId, target: &Format) -> Result<bool, DecodeError> {
        if id == target.id() {
            return Ok(false);
        }
        Ok(match self.way(id, target)? {
            Way::Same => false,
            Way::Through(route) => match &self.routes[route as usize] {
                Route::Convert { plan, .. } => plan.compile(),
                Route::Compute(_) | Route::Morph { .. } => false,
                Route::Refuse(error) => return Err(error.clone()),
            },
        })
    }

    /// Brings a body into the layout of `target`. False when it has it already; true when it now lies in `converted`.
    #[inline]
    fn make_native(&mut self, id: FormatId, target: &Format, body: &[u8]) -> Result<bool, DecodeError> {
        if id == target.id() && self.morphs.is_empty() && body.len() <= self.options.limits.body_bytes {
            return Ok(false);
        }
        if self.convert_next(id, target, body) { Ok(true) } else { self.convert_to_native(id, target, body) }
    }

    /// The shortest way there is for records of the same formats as the record before, if it is enough: whatever else
    /// there is to do, another function does.
    #[inline(never)]
    fn convert_next(&mut self, id: FormatId, target: &Format, body: &[u8]) -> bool {
        if let Some((last, route)) = &self.last
            && *last == (FormatPair { source: id, target: target.receiving_id() })
            && body.len() <= self.options.limits.body_bytes
            && let Some(Route::Convert { plan, interpreted_bytes_left: 0 }) = self.routes.get(*route as usize)
        {
            return plan.convert_direct(body, &mut self.converted);
        }
        false
    }

    /// [`make_native`](Self::make_native) for all layouts that differ.
    #[inline(never)]
    fn convert_to_native(&mut self, id: FormatId, target: &Format, body: &[u8]) -> Result<bool, DecodeError> {
        if body.len() > self.options.limits.body_bytes {
            return Err(self.too_long(body));
        }
        let pair = FormatPair { source: id, target: target.receiving_id() };
        let route = match &self.last {
            Some((last, route)) if *last == pair => *route,
            _ => match self.way(id, target)? {
                Way::Same => return Ok(false),
                Way::Through(route) => {
                    self.last = Some((pair, route));
                    route
                }
            },
        };
        match &mut self.routes[route as usize] {
            Route::Convert { plan, interpreted_bytes_left } => {
                plan.convert(body, &mut self.converted)?;
                if *interpreted_bytes_left > 0 {
                    let is_first = *interpreted_bytes_left == PAYS_AFTER;
                    let left = interpreted_bytes_left.saturating_sub(body.len().max(1));
                    *interpreted_bytes_left = left.max(usize::from(is_first));
                    if *interpreted_bytes_left == 0 {
                        plan.compile();
                    }
                }
            }
            Route::Refuse(error) => return Err(error.clone()),
            Route::Compute(partial) => partial.convert(body, &mut self.converted)?,
            Route::Morph { source, target, morph } => {
                let record = morph.apply_with(RecordView::new(source, body)?, target, &self.options)?;
                self.converted = record
                    .to_body()
                    .map_err(|error| DecodeError::Rule { path: target.name().into(), reason: error.to_string() })?;
            }
        }
        Ok(true)
    }

    /// The way from one format to another, decided when first asked for.
    #[inline]
    fn way(&mut self, id: FormatId, target: &Format) -> Result<Way, DecodeError> {
        let pair = FormatPair { source: id, target: target.receiving_id() };
        match self.ways.get(&pair) {
            Some(way) => Ok(*way),
            None => self.new_way(pair, target),
        }
    }

    #[cold]
    fn new_way(&mut self, pair: FormatPair, target: &Format) -> Result<Way, DecodeError> {
        let route = match self.decide(pair.source, target) {
            // Its description may still come.
            Err(error @ DecodeError::UnknownFormat(_)) => return Err(error),
            Err(error) => Some(Route::Refuse(error)),
            Ok(route) => route,
        };
        let way = match route {
            None => Way::Same,
            Some(route) => {
                self.routes.push(route);
                Way::Through((self.routes.len() - 1) as u32)
            }
        };
        self.ways.insert(pair, way);
        Ok(way)
    }

    /// A new route; none where the formats lay records out alike.
    fn decide(&self, id: FormatId, target: &Format) -> Result<Option<Route>, DecodeError> {
        let known = if id == target.id() { Some(target) } else { self.formats.get(&id) };
        let source = known.ok_or(DecodeError::UnknownFormat(id))?;
        let mut applying = self.morphs.iter().filter(|morph| morph.applies_to(source)).cloned();
        let morph = applying.next().map(|mut all| {
            applying.for_each(|later| all.add(later));
            all.concerning(source, target)
        });
        let mut options = ConvertOptions {
            loss: self.options.loss,
            cut_arrays: self.options.cut_arrays,
            limits: self.options.limits.clone(),
            ..ConvertOptions::default()
        };
        if let Some(morph) = morph {
            options.renames.insert(source.name().to_owned(), morph.renames().iter().cloned().collect());
            options.defaults.insert(target.name().to_owned(), morph.defaults().iter().cloned().collect());
            if !morph.is_plannable() {
                return Ok(Some(match Partial::new(&morph, source, target, &options)? {
                    Some(partial) => Route::Compute(Box::new(partial)),
                    None => Route::Morph { source: source.clone(), target: target.clone(), morph },
                }));
            }
        }
        let plan = Plan::new(source, target, &options)?;
        if plan.is_identity() {
            return Ok(None);
        }
        let interpreted_bytes_left = match self.options.generate {
            Generate::WhenItPays => PAYS_AFTER,
            Generate::AtOnce | Generate::Never => 0,
        };
        if self.options.generate == Generate::AtOnce {
            plan.compile();
        }
        Ok(Some(Route::Convert { plan, interpreted_bytes_left }))
    }

    #[cold]
    fn too_long(&self, body: &[u8]) -> DecodeError {
        let (found, limit) = (body.len() as u64, self.options.limits.body_bytes as u64);
        DecodeError::Limit { path: "body".into(), found, limit, name: "body_bytes" }
    }
}

/// Splits a message into its header and exactly the body it announces.
pub fn split_message(message: &[u8]) -> Result<(Header, &[u8]), DecodeError> {
    let (header, body) = message
        .split_first_chunk::<HEADER_BYTES>()
        .ok_or(DecodeError::Size { found: message.len(), wanted: HEADER_BYTES })?;
    let header = Header::from_bytes(header)?;
    if header.body_len != body.len() as u64 {
        let wanted = usize::try_from(header.body_len).unwrap_or(usize::MAX);
        return Err(DecodeError::Size { found: body.len(), wanted });
    }
    Ok((header, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteOrder, CStruct};

    fn format(order: ByteOrder, field: &str, count: u32) -> Format {
        let format = CStruct::new("numbers", 8 * count, 8).order(order);
        format.array(field, 0, CStruct::float_type(8), &[count]).build().expect("a format")
    }

    #[test]
    fn what_cannot_be_converted_is_planned_once() {
        let (source, target) = (format(ByteOrder::Big, "theirs", 1), format(ByteOrder::Little, "ours", 1));
        let mut decoder = Decoder::new();
        let unknown = decoder.convert(source.id(), &[0; 8], &target).map(|_| ());
        assert!(matches!(unknown, Err(DecodeError::UnknownFormat(_))) && decoder.routes.is_empty());

        decoder.learn(&source).expect("room");
        let missing = |decoder: &mut Decoder| {
            let result = decoder.convert(source.id(), &[0; 8], &target).map(|_| ());
            matches!(result, Err(DecodeError::Missing { .. }))
        };
        assert!(missing(&mut decoder) && missing(&mut decoder));
        decoder.last = None;
        assert!(missing(&mut decoder) && decoder.routes.len() == 1);
        assert!(matches!(decoder.compile(source.id(), &target), Err(DecodeError::Missing { .. })));

        decoder.morph(Morph::new("numbers").rename("theirs", "ours"));
        assert!(decoder.convert(source.id(), &[0; 8], &target).is_ok(), "rules are asked again");
    }

    #[test]
    fn the_first_record_of_a_format_does_not_wait_for_machine_code_however_long_it_is() {
        let long = (PAYS_AFTER / 8) as u32;
        let (source, target) = (format(ByteOrder::Big, "x", long), format(ByteOrder::Little, "x", long));
        let body = vec![0; source.size()];
        let mut decoder = Decoder::new();
        let id = decoder.learn(&source).expect("room");
        let mut left = || {
            decoder.convert(id, &body, &target).expect("it converts");
            match decoder.routes[..] {
                [Route::Convert { interpreted_bytes_left, .. }] => interpreted_bytes_left,
                _ => panic!("one plan"),
            }
        };
        assert_eq!([left(), left(), left()], [1, 0, 0]);
    }
}
