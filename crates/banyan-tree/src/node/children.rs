//! Children that come, go, and tell of those below them.

use std::collections::HashSet;

use banyan_boot::RankSet;

use super::{Action, Node};
use crate::ids::{LinkId, NodeId, StreamId, Time};
use crate::message::{Attach, Gone, Message, NodeInfo, Resume};
use crate::run::Run;

impl Node {
    pub(super) fn childs_message(&mut self, link: LinkId, message: Message, now: Time) {
        if let Message::Attach(attach) = message {
            return self.attach(link, attach, now);
        }
        let Some(child) = self.below.node_of(link) else {
            // It is not a child any more, or never was.
            return self.actions.push_back(Action::Close(link));
        };
        self.note_unopened(link, &message);
        let (rank, before) = (self.rank_of(child), self.actions.len());
        let taken = match message {
            Message::Run(run) => {
                let checked = rank.map_or(Ok(()), |rank| self.check_own(rank, &run));
                checked.and_then(|()| self.run(link, run, rank.is_some(), now))
            }
            Message::Received { stream, until } => self.received_until(link, rank.is_some(), stream, until),
            message => self.childs_rare_message(link, child, message, now),
        };
        let counted = taken.and_then(|()| rank.map_or(Ok(()), |_| self.count_answers(link, before)));
        counted.unwrap_or_else(|cause| self.violation(link, child, cause, now));
    }

    #[cold]
    fn childs_rare_message(&mut self, link: LinkId, child: NodeId, message: Message, now: Time) -> Result<(), String> {
        if self.rank_of(child).is_some() {
            check_members_word(child, &message)?;
        }
        match message {
            Message::Placed { places, resumes, is_new } => {
                self.joins.tell(link);
                self.placed(link, places, resumes, is_new, now);
            }
            Message::Ended { node, members } => return self.witnessed(link, node, &members),
            // One that has moved is another's to speak of.
            Message::Gone(gone) if self.below.link_towards(gone.node) != Some(link) => {}
            Message::Gone(mut gone) => {
                let (known, members) = (self.received_over(link), self.below.members_below(gone.node));
                self.complete(&mut gone.resumes, &known, &members);
                raise(&mut gone.resumes, &known);
                self.gone(gone, now);
            }
            Message::Participate { stream, next } => return self.participate(link, stream, next),
            Message::Withdraw(stream) => self.withdraw(link, stream),
            Message::WantAcknowledgement(stream) => self.want_acknowledgement(stream),
            Message::Resend { stream, from } => return self.resend(link, stream, from),
            // Of others only their own way up speaks.
            Message::Counted { node, .. } | Message::ClockCounted { node, .. }
                if self.below.link_towards(node) != Some(link) => {}
            Message::ClockCounted { question, node, clock } => self.clock_counted(question, node, clock),
            Message::Counted { question, node, figures } => self.counted(question, node, *figures),
            Message::Uncombined { node, .. } | Message::Violated { node, .. } => {
                self.summary_of_problems(link, node, message)
            }
            Message::FieldMissing { stream, field, members } => return self.field_missing(stream, &field, &members),
            _ => return Err("said what only a parent says".into()),
        }
        Ok(())
    }

    /// Counts what a member is answered, which waits here until the member takes it.
    fn count_answers(&mut self, link: LinkId, before: usize) -> Result<(), String> {
        let is_answer = |action: &&Action| match action {
            Action::Send { link: to, message } => *to == link && !matches!(message, Message::Packet { .. }),
            _ => false,
        };
        let count = self.actions.range(before.min(self.actions.len())..).filter(is_answer).count() as u64;
        if count == 0 {
            return Ok(());
        }
        let answers = self.answers.get_or_insert_with(link, u64::default);
        if *answers == 0 {
            self.actions.push_back(Action::Drain(link));
        }
        *answers += count;
        let most = 2 * self.options.window_waves * (1 + self.streams.len() as u64);
        if *answers > most {
            return Err(format!("takes none of more than {most} answers, and goes on"));
        }
        Ok(())
    }

    /// A member speaks for itself alone: it sends its own records, and what a filter made of them where members have filters.
    fn check_own(&mut self, rank: u32, run: &Run) -> Result<(), String> {
        if run.members.only() != Some(rank) {
            return Err(format!("sent a contribution of members {}", run.members));
        }
        let is_made = run.is_partial || run.bodies.are_absent() || run.yields.is_some();
        let Some(stream) = self.streams.get_mut(&run.stream).filter(|_| is_made) else { return Ok(()) };
        if !stream.opening.options.are_made_at_members() {
            return Err(format!("sent what a filter made on {}, where members have no filter", run.stream));
        }
        stream.transformation.verify(run).map_err(|error| format!("spoke for others on {}: {error}", run.stream))
    }

    pub(super) fn rank_of(&self, child: NodeId) -> Option<u32> {
        self.below.get(child).and_then(|place| place.rank)
    }

    /// Whether the child of this link is a member.
    pub(crate) fn is_member(&self, link: LinkId) -> bool {
        self.below.node_of(link).is_some_and(|child| self.rank_of(child).is_some())
    }

    /// A child breaks rules of the driver: its link is closed, and it is named.
    pub(crate) fn refuse(&mut self, link: LinkId, cause: String, now: Time) {
        if let Some(child) = self.below.node_of(link) {
            self.violation(link, child, cause, now);
        }
    }

    /// One that was to become a child cannot: its link is closed, and it is named.
    pub(crate) fn refuse_stranger(&mut self, child: NodeId, cause: String) {
        self.violated(child, cause);
    }

    #[cold]
    pub(super) fn violation(&mut self, link: LinkId, child: NodeId, cause: String, now: Time) {
        self.violated(child, cause);
        self.actions.push_back(Action::Close(link));
        self.child_closed(link, false, now);
    }

    /// Remembers a child that speaks of a stream this node has not heard of: it will be asked again.
    fn note_unopened(&mut self, link: LinkId, message: &Message) {
        let (Message::Participate { stream, .. } | Message::Run(Run { stream, .. }) | Message::Withdraw(stream)) =
            message
        else {
            return;
        };
        self.unopened.note_child(link, *stream);
    }

    /// Someone wants to be a child.
    fn attach(&mut self, link: LinkId, attach: Attach, now: Time) {
        let place = attach.place;
        if let Some(known) = self.below.node_of(link) {
            return self.violation(
                link,
                known,
                format!("is a child, and says again that it is one: {}", place.node),
                now,
            );
        }
        if place.rank.is_some() && !attach.below.is_empty() {
            return self.violation(link, place.node, "is a member, and brings nodes below it".into(), now);
        }
        if let Some(succession) = self.successor_of(&place).cloned() {
            return self.send_away(link, &succession, now);
        }
        if self.below.epoch(place.node).is_some_and(|known| known > place.epoch) {
            // It has asked someone else since.
            return self.actions.push_back(Action::Close(link));
        }
        if let Some(others) = self.refuses(&attach) {
            self.send(link, Message::Refuse(others));
            return self.actions.push_back(Action::Close(link));
        }
        let old = self.below.link_of(place.node).filter(|old| *old != link);
        if let Some(old) = old {
            self.actions.push_back(Action::Close(old));
            self.forget_upwards(old);
        }
        self.below.link(place.node, link);
        self.send(link, Message::Welcome(self.childrens_ancestry()));
        self.tell_successions(link, place);
        let places: Vec<NodeInfo> =
            std::iter::once(NodeInfo { parent: self.id, ..place }).chain(attach.below.iter().copied()).collect();
        self.placed(link, places, attach.resumes, attach.is_new, now);
        // Only now that it is known where the child goes on may anything be dropped.
        if let Some(old) = old {
            self.forget_downwards(old);
        }
    }

    /// Those to ask instead, if this node does not take the child.
    fn refuses(&self, attach: &Attach) -> Option<Vec<crate::message::Candidate>> {
        if self.role.is_member() || self.ascent.is_orphan() || attach.place.level <= self.ascent.level() {
            return Some(Vec::new());
        }
        let is_known = self.below.link_of(attach.place.node).is_some();
        let is_full = self.below.degree() >= self.options.capacity && !is_known && !attach.is_urgent;
        is_full.then(|| self.least_busy_children())
    }

    /// A node with all below it is below this node now, over this link.
    fn placed(&mut self, link: LinkId, mut places: Vec<NodeInfo>, resumes: Vec<Resume>, is_new: bool, now: Time) {
        // Their parents hear that others have taken their places.
        places.retain(|place| self.successor_of(place).is_none());
        self.forget_outdated(&mut places);
        let Some(first) = places.first().copied() else { return };
        // Its parent may have moved on while this was on its way; then its parent has told of it by another way.
        if first.parent != self.id && self.below.link_towards(first.parent) != Some(link) {
            return;
        }
        let before = self.below.get(first.node).filter(|known| known.epoch < first.epoch);
        let known = self.known_resumes(first.node);
        let assured = if is_new { Vec::new() } else { self.assured_of(&places) };
        for place in &places {
            self.below.place(*place);
        }
        if self.below.epoch(first.node) != Some(first.epoch) {
            // It cannot be.
            return;
        }
        // Whoever was below it, or below one that came along, and is not any more has gone; the report of that may have
        // been lost on its way.
        let listed: HashSet<NodeId> = places.iter().map(|place| place.node).collect();
        let mut missing = self.below.subtree(first.node);
        missing.retain(|known| !listed.contains(&known.node));
        // Nodes below one that nobody knows are nowhere. Only a broken node tells of such.
        places.retain(|place| self.below.get(place.node) == Some(*place));
        // Those who were thought to be below it and are elsewhere are not behind by this way.
        let mut resumes: Vec<Resume> =
            resumes.into_iter().filter(|resume| self.concerns(link, resume.stream)).collect();
        let members: RankSet = places.iter().filter_map(|place| place.rank).collect();
        if is_new && first.rank.is_some() {
            self.begin_now(&mut resumes, &members);
        }
        self.complete(&mut resumes, &[], &members);
        raise(&mut resumes, &assured);
        self.unopened.note_resumes(link, &resumes);
        self.note_beginners(&members, &resumes);
        self.is_below_changed = true;
        self.note_successors(&places, now);
        self.welcome_back(&places, before.is_some_and(|before| before.epoch.life() == first.epoch.life()));
        self.joins.note(link);
        self.send_up(Message::Placed { places, resumes: resumes.clone(), is_new });
        for place in missing {
            self.gone(Gone { node: place.node, epoch: place.epoch, is_certain: false, resumes: known.clone() }, now);
        }
        self.resume_downwards(link, &resumes, is_new);
        if is_new && first.parent == self.id {
            self.end_greeting(link);
        }
        self.expect();
    }

    /// Leaves those out that have moved on since, and all below them: who is below a node that has moved is said by the list
    /// that it has brought to its new parent. One that was stopped for long may know of members that have died since.
    fn forget_outdated(&self, places: &mut Vec<NodeInfo>) {
        let mut outdated = HashSet::new();
        places.retain(|place| {
            let has_moved = self.below.epoch(place.node).is_some_and(|known| known > place.epoch);
            let is_outdated = has_moved || outdated.contains(&place.parent);
            is_outdated.then(|| outdated.insert(place.node));
            !is_outdated
        });
    }

    /// A node is not below this one any more.
    fn gone(&mut self, gone: Gone, now: Time) {
        if self.below.epoch(gone.node).is_none_or(|known| known > gone.epoch) {
            return;
        }
        if self.role.is_front_end() {
            self.adrift(gone, now);
        } else {
            self.below.remove(gone.node);
            self.is_below_changed = true;
            self.send_up(Message::Gone(gone));
        }
    }

    /// The link of a child has ended, or the child itself.
    pub(super) fn child_closed(&mut self, link: LinkId, is_certain: bool, now: Time) {
        let Some(node) = self.below.node_of(link) else { return };
        // It may have come back by another way since.
        let place = self.below.get(node).filter(|place| place.parent == self.id);
        let resumes = self.received_over(link);
        // First what it has sent goes on its way, then the news that there will be no more, and only then is anything
        // dropped that it, or someone below it, may ask for again.
        self.forget_upwards(link);
        if let Some(NodeInfo { epoch, .. }) = place {
            self.gone(Gone { node, epoch, is_certain, resumes }, now);
        }
        self.forget_downwards(link);
    }

    /// How far a child and all below it were at least, when they were last heard of.
    fn received_over(&self, link: LinkId) -> Vec<Resume> {
        let resume = |stream: StreamId, received: u64| Resume { stream, next: received, received };
        let control = self.control.received_by(link).map(|received| resume(StreamId::CONTROL, received));
        let others = self.streams.iter();
        let others = others.filter_map(|(id, stream)| Some(resume(*id, stream.log.assured_by(link)?)));
        control.into_iter().chain(others).collect()
    }

    /// Adds streams that these members belong to and that were not spoken of: whoever told of them has not heard of the
    /// stream, so they are as far as is known, or else at its beginning.
    fn complete(&self, resumes: &mut Vec<Resume>, known: &[Resume], members: &RankSet) {
        for (id, stream) in self.streams.iter() {
            if resumes.iter().any(|told| told.stream == *id) || stream.opening.members.is_disjoint(members) {
                continue;
            }
            let known = known.iter().find(|known| known.stream == *id);
            resumes.push(known.copied().unwrap_or(Resume { stream: *id, next: 0, received: 0 }));
        }
    }

    /// Adds streams that a member which has just come belongs to: it begins with what is sent next.
    fn begin_now(&self, resumes: &mut Vec<Resume>, members: &RankSet) {
        for (id, stream) in self.streams.iter() {
            let is_told = resumes.iter().any(|told| told.stream == *id);
            if !is_told && !stream.opening.members.is_disjoint(members) {
                resumes.push(Resume::now(*id));
            }
        }
    }

    /// How far all below a node were at least, by what is known before it comes by another way: it may have been below
    /// one that is adrift, or below a child of this node.
    fn known_resumes(&self, node: NodeId) -> Vec<Resume> {
        let mut above = self.below.chain(node);
        let adrift = above.find_map(|node| self.role.front_end().and_then(|front_end| front_end.resumes_of(node)));
        let old_link = self.below.link_towards(node);
        adrift.or(old_link.map(|link| self.received_over(link))).unwrap_or_default()
    }

    /// How far all members among these were at least, by what is known of where they were until now: nothing before that is
    /// for them, or they have it, also if they have not heard of it.
    fn assured_of(&self, places: &[NodeInfo]) -> Vec<Resume> {
        let Some(first) = places.first() else { return Vec::new() };
        let mut assured: Option<Vec<Resume>> = None;
        let mut parents = HashSet::new();
        for place in places.iter().filter(|place| place.rank.is_some()) {
            let Some(known) = self.below.get(place.node) else { return Vec::new() };
            if !self.was_only_there(known, *place, *first) {
                return Vec::new();
            }
            let is_adrift = self.role.front_end().is_some_and(|front_end| front_end.is_adrift(place.node));
            if parents.insert(known.parent) || is_adrift || known.parent == self.id {
                let resumes = self.known_resumes(place.node);
                match &mut assured {
                    None => assured = Some(resumes),
                    Some(assured) => lower(assured, &resumes),
                }
            }
        }
        assured.unwrap_or_default()
    }

    /// Whether a node has got nothing from elsewhere since it was where it is known to be. The front-end hears of everyone who
    /// gets something. Others go by how often the node that moves has asked for a parent.
    fn was_only_there(&self, known: NodeInfo, place: NodeInfo, first: NodeInfo) -> bool {
        if known.epoch.life() != place.epoch.life() {
            return false;
        }
        if let Some(front_end) = self.role.front_end() {
            return !self.below.chain(place.node).any(|node| front_end.has_given_up(node));
        }
        let before = self.below.epoch(first.node).is_some_and(|epoch| epoch.0 + 1 == first.epoch.0);
        let is_with_it =
            place.node == first.node || (known == place && self.below.chain(place.node).any(|node| node == first.node));
        before && is_with_it
    }

    fn forget_upwards(&mut self, link: LinkId) {
        self.unopened.forget_child(link);
        self.below.unlink_child(link);
        self.halted.remove(&link);
        self.answers.remove(&link);
        self.joins.forget(link);
        for id in self.stream_ids() {
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.gathering.withdraw(link);
                stream.records.as_mut().into_iter().for_each(|records| records.forget_child(link));
            }
            self.pump_up(id);
            self.tell_participation(id);
        }
    }

    fn forget_downwards(&mut self, link: LinkId) {
        for id in self.stream_ids() {
            if let Some(log) = self.log_mut(id) {
                log.remove_child(link);
            }
            self.pump_down(id);
        }
    }
}

/// Of streams that both speak of, the lower; of others nothing.
fn lower(resumes: &mut Vec<Resume>, others: &[Resume]) {
    resumes.retain_mut(|resume| {
        let other = others.iter().find(|other| other.stream == resume.stream);
        other.is_some_and(|other| {
            resume.received = resume.received.min(other.received);
            true
        })
    });
}

/// Says of nodes that they are as far as is known of them. Of the control stream they know best.
fn raise(resumes: &mut [Resume], known: &[Resume]) {
    for resume in resumes.iter_mut().filter(|resume| resume.stream != StreamId::CONTROL) {
        let known = known.iter().find(|known| known.stream == resume.stream);
        resume.received = known.map_or(resume.received, |known| known.received.max(resume.received));
    }
}

/// What a member, which speaks for itself alone, does not say.
fn check_members_word(member: NodeId, message: &Message) -> Result<(), String> {
    let what = match message {
        Message::Placed { .. } => "told of nodes below it".to_owned(),
        Message::Gone(_) => "told that a node is gone".to_owned(),
        Message::Ended { .. } => "told of the ends of others".to_owned(),
        Message::Uncombined { .. } | Message::Violated { .. } => "told of what others did".to_owned(),
        Message::FieldMissing { .. } => "told what records lack".to_owned(),
        Message::Counted { node, .. } | Message::ClockCounted { node, .. } if *node != member => {
            format!("told what {node} has done")
        }
        _ => return Ok(()),
    };
    Err(format!("is a member, and {what}"))
}
