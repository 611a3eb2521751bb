/** (pure) Whether two texts that came in pieces are the same, wherever they were cut: without making one of either. */
export function isSameText(left: readonly string[], right: readonly string[]): boolean {
  if (lengthOf(left) !== lengthOf(right)) return false
  const others = right.values()
  let open: string | undefined = ''
  for (const piece of left) {
    let at = 0
    while (at < piece.length) {
      if (open === '') open = others.next().value
      if (open === undefined) return false
      const length = Math.min(piece.length - at, open.length)
      if (piece.slice(at, at + length) !== open.slice(0, length)) return false
      at += length
      open = open.slice(length)
    }
  }
  return true
}

function lengthOf(pieces: readonly string[]): number {
  return pieces.reduce((length, piece) => length + piece.length, 0)
}
