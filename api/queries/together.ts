/**
 * Asks what arrives in one turn of the event loop by one statement, up to so many questions: under load most of what a
 * statement costs is to begin and to end it. A question that comes alone is asked alone, in the next turn.
 */
export function together<Question, Answer>(
  most: number,
  askAll: (questions: readonly Question[]) => Promise<readonly Answer[]>,
): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = []

  async function askWaiting(): Promise<void> {
    const asked = waiting
    waiting = []
    try {
      const answers = await askAll(asked.map(({ question }) => question))
      if (answers.length !== asked.length)
        throw new Error(`${asked.length} questions, ${answers.length} answers`)
      // As many as were asked, so that each finds its own.
      for (const [index, answer] of answers.entries()) asked[index]?.answer(answer)
    } catch (error) {
      for (const { fail } of asked) fail(error)
    }
  }

  return (question) =>
    new Promise((answer, fail) => {
      waiting.push({ question, answer, fail })
      if (waiting.length === most) void askWaiting()
      else if (waiting.length === 1) setImmediate(() => void (waiting.length > 0 && askWaiting()))
    })
}

interface Waiting<Question, Answer> {
  question: Question
  answer: (answer: Answer) => void
  fail: (error: unknown) => void
}
