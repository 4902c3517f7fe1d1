//! Things by number; numbers of what is gone are given anew.

#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, entry: T) -> u32 {
        if let Some(id) = self.free.pop()
            && let Some(place) = self.entries.get_mut(id as usize)
        {
            *place = Some(entry);
            return id;
        }
        self.entries.push(Some(entry));
        (self.entries.len() - 1) as u32
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        let entry = self.entries.get_mut(id as usize)?.take()?;
        self.free.push(id);
        Some(entry)
    }

    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.entries.get(id as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.entries.get_mut(id as usize)?.as_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let all = self.entries.iter().enumerate();
        all.filter_map(|(id, entry)| Some((id as u32, entry.as_ref()?)))
    }

    /// How many numbers there are, of what is gone as well.
    pub(crate) fn places(&self) -> usize {
        self.entries.len()
    }

    /// How many things there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}
