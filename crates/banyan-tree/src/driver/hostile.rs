//! What no program does by itself, for tests of hostile members.

use std::os::fd::OwnedFd;

use banyan_link::Frame;

use super::Driver;

impl Driver {
    /// Sends a frame of any kind to the parent.
    pub(crate) fn send_frame_up(&mut self, frame: Frame) {
        if let Some(link) = self.node.parent_link()
            && let Some(parent) = self.links.get_mut(&link)
        {
            parent.send_frame(frame);
            self.touch(link);
        }
        self.prepare(None);
    }

    /// Another descriptor of the socket to the parent.
    pub(crate) fn parent_socket(&self) -> Option<OwnedFd> {
        let parent = self.links.get(&self.node.parent_link()?)?;
        parent.link().fds().1.try_clone_to_owned().ok()
    }
}
