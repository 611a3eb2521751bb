/** The reader of an export takes each text within this time. A text is about 200 kB, so that this is a least rate. */
export const TEXT_WITHIN_MS = 30_000

/** Yields the texts, and calls `onLate` once if the reader does not ask for the next one in time. */
export async function* takenInTime(
  texts: AsyncGenerator<string>,
  withinMs: number,
  onLate: () => void,
): AsyncGenerator<string> {
  for await (const text of texts) {
    const timer = setTimeout(onLate, withinMs)
    try {
      yield text
    } finally {
      clearTimeout(timer)
    }
  }
}
