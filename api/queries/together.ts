/**
 * Asks what arrives in one turn of the event loop by one statement, up to so many questions: under load most of what a
 * statement costs is to begin and to end it. A question that comes alone is asked alone, at once.
 */
export function together<Question, Answer>(
  most: number,
  askAll: (questions: readonly Question[]) => Promise<readonly Answer[]>,
): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = []

  function askWaiting(): void {
    const asked = waiting
    waiting = []
    askAll(asked.map(({ question }) => question)).then(
      (answers) => {
        for (const [index, { answer, fail }] of asked.entries()) {
          const found = answers[index]
          if (found === undefined) fail(new Error(`${asked.length} questions, ${answers.length} answers`))
          else answer(found)
        }
      },
      (error: unknown) => {
        for (const { fail } of asked) fail(error)
      },
    )
  }

  return (question) =>
    new Promise((answer, fail) => {
      waiting.push({ question, answer, fail })
      if (waiting.length === most) askWaiting()
      else if (waiting.length === 1) setImmediate(() => waiting.length > 0 && askWaiting())
    })
}

interface Waiting<Question, Answer> {
  question: Question
  answer: (answer: Answer) => void
  fail: (error: unknown) => void
}
