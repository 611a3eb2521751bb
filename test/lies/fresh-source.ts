interface Source {
  close: () => Promise<void>
}

/** Runs tasks with one source, and with a new one after a task was refused: a source puts an endpoint that lied aside. */
export function freshWhenRefused<S extends Source>(
  open: () => S,
): <T>(task: (source: S) => Promise<T>) => Promise<T> {
  let source: S | null = null
  return async (task) => {
    const used = (source ??= open())
    try {
      return await task(used)
    } catch (error) {
      source = null
      await used.close()
      throw error
    }
  }
}
