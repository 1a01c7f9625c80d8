//! The micro-benchmark of the LIBI paper, member: broadcast, scatter, gather and barrier, checked.

use std::error::Error;

use banyan_boot::Member;
use bytes::Bytes;

fn main() -> Result<(), Box<dyn Error>> {
    let mut member = Member::join()?;
    let word = if member.is_master() { Some(member.recv_user_data()?) } else { None };
    let word = member.broadcast(word)?;

    let parts = member.is_master().then(|| (0..member.size()).map(|rank| rank.to_le_bytes().to_vec().into()).collect());
    let own: Bytes = member.scatter(parts)?;
    assert_eq!(own[..], member.rank().to_le_bytes());

    let gathered = member.gather(own)?;
    member.barrier()?;
    if let Some(parts) = gathered {
        let in_order = parts.iter().zip(0u32..).all(|(part, rank)| part[..] == rank.to_le_bytes());
        let answer = format!(
            "{} members heard {:?}; gathered in order: {in_order}",
            parts.len(),
            String::from_utf8_lossy(&word)
        );
        member.send_user_data(answer)?;
    }
    Ok(())
}
