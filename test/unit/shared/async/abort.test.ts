import { getEventListeners } from 'node:events'
import t from 'tap'
import { ABORTED, unlessAborted, untilAborted } from '../../../../shared/async/abort.ts'

const never = new Promise<never>(() => undefined)

void t.test('a promise that settles first passes, and leaves no listener on the signal', async (t) => {
  const { signal } = new AbortController()
  t.equal(await unlessAborted(Promise.resolve(7), signal), 7)
  await t.rejects(unlessAborted(Promise.reject(new Error('its own')), signal), { message: 'its own' })
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

void t.test('an abort ends the wait, and a later rejection is ignored', async (t) => {
  const stop = new AbortController()
  let fail: (error: Error) => void = () => undefined
  const late = new Promise<never>((_, reject) => (fail = reject))
  const waits = [unlessAborted(never, stop.signal), unlessAborted(late, stop.signal)]
  const aborted = untilAborted(stop.signal)
  stop.abort()
  fail(new Error('an unhandled rejection would end the process'))
  t.same(await Promise.all(waits), [ABORTED, ABORTED])
  await aborted
  await untilAborted(stop.signal)
  t.equal(await unlessAborted(never, stop.signal), ABORTED)
})
