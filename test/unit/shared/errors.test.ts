import t from 'tap'
import { messageOf } from '../../../shared/errors.ts'

void t.test('whatever was thrown has a message', async (t) => {
  t.equal(messageOf(new Error('so it is')), 'so it is')
  t.equal(messageOf('text'), 'text')
  t.equal(messageOf(new AggregateError([new Error('one'), new Error('two')])), 'one; two')
  t.equal(messageOf(new TypeError('fetch failed')), 'fetch failed')
  const refused = await fetch('http://127.0.0.1:1/').catch((error: unknown) => error)
  t.match(messageOf(refused), /^fetch failed: .+/, 'and not only that it failed')
})
