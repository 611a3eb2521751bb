import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { MUTATIONS, PROMISES, type Mutation } from '../../mutations/mutations.ts'
import { brokenText, firstComplaint } from '../../mutations/workshop.ts'

const ROOT = new URL('../../../', import.meta.url)

void t.test('every mutation can still be made, and somebody is to notice', (t) => {
  for (const mutation of MUTATIONS) {
    const whole = readFileSync(new URL(mutation.file, ROOT), 'utf8')
    t.not(brokenText(whole, mutation), whole, mutation.what)
    t.ok(mutation.noticedBy.length > 0, 'somebody notices')
    for (const check of mutation.noticedBy) {
      if ('test' in check) t.ok(existsSync(new URL(check.test, ROOT)), check.test)
    }
  }
  t.same([...new Set(MUTATIONS.map(({ promise }) => String(promise)))].sort(), Object.keys(PROMISES))
  t.end()
})

void t.test('a text that is there twice, or not at all, is told', (t) => {
  const mutation: Mutation = { promise: 1, what: 'x', file: 'a.ts', from: 'b', to: 'c', noticedBy: [] }
  t.equal(brokenText('abd', mutation), 'acd')
  t.throws(() => brokenText('abdb', mutation), /a\.ts has 2 times, and not once: b/)
  t.throws(() => brokenText('a', mutation), /a\.ts has 0 times/)
  t.end()
})

void t.test('the first complaint is found in what a check says', (t) => {
  t.equal(firstComplaint('12:00:00 fine\n12:00:01 WRONG: two records\nWRONG: b'), 'WRONG: two records')
  t.equal(firstComplaint('ok\n✖ test/a.test.ts > b\n'), '✖ test/a.test.ts > b')
  t.equal(firstComplaint('a\nb\n'), 'b')
  t.end()
})
