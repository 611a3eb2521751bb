import t from 'tap'
import { LastWords } from '../../../devnet/start/last-words.ts'

const CRASH = ['/app/file.ts:3', '  throw new Error(x)', '        ^', '', 'RangeError [ERR_X]: too far']
const FRAMES = ['    at main (/app/file.ts:3:9) {', '  [cause]: Error: deeper', '}', '', 'Node.js v20.20.2']

const cases: [what: string, lines: string[], expected: string | undefined][] = [
  ['nothing', ['', ' '], undefined],
  ['its own message', ['indexer: NETWORKS_FILE is malformed', ''], 'indexer: NETWORKS_FILE is malformed'],
  ['an own message and more', ['indexer: no luck', 'a remark'], 'indexer: no luck'],
  ['an uncaught error', [...CRASH, ...FRAMES], 'indexer: RangeError [ERR_X]: too far'],
  ['a warning, then a crash', ['indexer: slow', ...CRASH, ...FRAMES], 'indexer: RangeError [ERR_X]: too far'],
  ['the heap', ['FATAL ERROR: heap limit', '----- Native', ' 1: 0xb7'], 'indexer: FATAL ERROR: heap limit'],
  ['other words', ['first', ' last ', 'Node.js v20.20.2'], 'indexer: last'],
]

for (const [what, lines, expected] of cases) {
  void t.test(what, (t) => {
    const words = new LastWords('indexer')
    for (const line of lines) words.add(line)
    t.equal(words.line, expected)
    t.end()
  })
}
