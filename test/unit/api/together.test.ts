import fc from 'fast-check'
import t from 'tap'
import { together } from '../../../api/queries/together.ts'

void t.test('each question gets its own answer, and what comes in one turn is asked together', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.nat(), { maxLength: 20 }), { maxLength: 5 }),
      fc.integer({ min: 1, max: 7 }),
      async (turns, most) => {
        const asked: number[] = []
        const ask = together(most, (questions: readonly number[]) => {
          asked.push(questions.length)
          return Promise.resolve(questions.map((question) => `answer to ${question}`))
        })
        for (const questions of turns) {
          asked.length = 0
          const answers = await Promise.all(questions.map(ask))
          t.same(
            answers,
            questions.map((question) => `answer to ${question}`),
          )
          t.equal(asked.length, Math.ceil(questions.length / most))
          t.ok(asked.every((count) => count <= most))
        }
      },
    ),
  )
})

void t.test(
  'what cannot be asked fails for each of those who asked, and for nobody after them',
  async (t) => {
    let isAway = true
    const ask = together(10, (questions: readonly string[]) =>
      isAway ? Promise.reject(new Error('away')) : Promise.resolve(questions),
    )
    const ends = await Promise.allSettled(['a', 'b', 'c'].map(ask))
    t.match(
      ends,
      Array.from(ends, () => ({ status: 'rejected', reason: { message: 'away' } })),
    )
    isAway = false
    t.equal(await ask('d'), 'd')
  },
)

void t.test('an answer too few is an error', async (t) => {
  const ask = together(10, (questions: readonly string[]) => Promise.resolve(questions.slice(1)))
  t.match(await Promise.allSettled(['a', 'b'].map(ask)), [
    { status: 'rejected', reason: { message: '2 questions, 1 answers' } },
    { status: 'rejected', reason: { message: '2 questions, 1 answers' } },
  ])
})
