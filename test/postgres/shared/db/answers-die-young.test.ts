import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { testDatabase } from '../../../helpers/database.ts'

const QUERIES = 60
/** Of each answer; all answers together are several times what the young generation holds. */
const ROWS = 1000
const CHARACTERS = 500

// In a process of its own: here tap holds on to every promise, and with it to what it came to.
void t.test(
  'what was answered and nobody holds any more goes with a collection of the young generation',
  async (t) => {
    const { url } = await testDatabase(t)
    const child = fork(
      fileURLToPath(new URL('../../../helpers/outliving-main.ts', import.meta.url)),
      [url, ...[QUERIES, ROWS, CHARACTERS].map(String)],
      { execArgv: ['--import=tsx', '--no-warnings', '--expose-gc'] },
    )
    const ended = once(child, 'exit')
    const [bytes] = (await once(child, 'message')) as [number]
    const answered = QUERIES * ROWS * CHARACTERS
    t.ok(bytes < answered / 4, `${bytes} of ${answered} bytes outlived it`)
    t.same(await ended, [0, null])
  },
)
