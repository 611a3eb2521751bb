/** A longer text is made anew each time: whoever sends long ones shall not have them kept. */
const LONGEST_KEPT = 512

/**
 * `make` of a text, which must depend on nothing else, with so many results kept: for what is dear to make, and asked for again
 * and again. When they are as many all of them are let go of, so whoever sends ever new texts costs time, and no memory.
 */
export function remembering<T>(most: number, make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    const held = known.get(text)
    if (held !== undefined) return held
    const made = make(text)
    if (text.length > LONGEST_KEPT) return made
    if (known.size >= most) known.clear()
    known.set(text, made)
    return made
  }
}
