import { getEventListeners } from 'node:events'
import t from 'tap'
import { pause } from '../../../../shared/async/pause.ts'

void t.test('a pause ends with its time, and leaves no listener on the signal', async (t) => {
  const { signal } = new AbortController()
  await pause(1, signal)
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

void t.test('a pause ends at once when the signal is aborted, also before it began', async (t) => {
  const stop = new AbortController()
  const began = pause(3_600_000, stop.signal)
  stop.abort(new Error('a reason that is not the pause’s failure'))
  await t.resolves(began)
  await t.resolves(pause(3_600_000, stop.signal))
})
