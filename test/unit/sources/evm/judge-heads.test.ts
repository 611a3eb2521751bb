import t from 'tap'
import { judgeHeads } from '../../../../indexer/sources/evm/judge-heads.ts'

/** Heads as `name:head`, with `!` for an endpoint that was behind; the verdicts on them in the same form. */
const CASES: { heads: string; before: number; verdicts: string | null; why: string }[] = [
  { heads: 'a:10', before: 10, verdicts: null, why: 'one endpoint alone proves nothing' },
  { heads: '!a:10 !b:12', before: 10, verdicts: null, why: 'all are behind' },
  { heads: 'a:10 b:12', before: -1, verdicts: '', why: 'the first comparison only remembers' },
  { heads: 'a:10 b:12', before: 10, verdicts: '', why: 'one that has the newest block of before keeps up' },
  { heads: 'a:9 b:12', before: 10, verdicts: 'a:9 fell behind', why: 'it lacks a block that another had' },
  { heads: 'a:9 b:9', before: 10, verdicts: '', why: 'after a reorg to fewer blocks nobody has it' },
  { heads: 'a:12 !b:12', before: 10, verdicts: 'b:12 caught up', why: 'it has the head that was told' },
  { heads: 'a:12 !b:11', before: 10, verdicts: 'b:11 still behind', why: 'it lacks the head that was told' },
  {
    heads: '!a:11 b:12',
    before: 10,
    verdicts: 'a:11 still behind',
    why: 'a told head of a laggard counts for nothing',
  },
  { heads: '!a:12 b:11', before: 10, verdicts: 'a:12 caught up', why: 'it is the newest' },
  { heads: 'a:12 b:8 !c:12', before: 11, verdicts: 'b:8 fell behind, c:12 caught up', why: 'both at once' },
]

void t.test('which endpoints are behind', (t) => {
  for (const { heads, before, verdicts, why } of CASES) {
    const found = heads.split(' ').map((text) => {
      const [endpoint = '', head] = text.replace('!', '').split(':')
      return { endpoint, head: Number(head), isBehind: text.startsWith('!') }
    })
    const judged = judgeHeads(found, before)
    const said = judged?.verdicts.map(({ endpoint, head, verdict }) => `${endpoint}:${head} ${verdict}`)
    t.equal(said?.join(', ') ?? null, verdicts, why)
    if (judged !== null) t.equal(judged.newest, Math.max(...found.map(({ head }) => head)))
  }
  t.end()
})
