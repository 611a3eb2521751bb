import { getEventListeners } from 'node:events'
import t from 'tap'
import { pause } from '../../../../shared/async/pause.ts'
import { Wakeup } from '../../../../shared/async/wakeup.ts'

const LONG_MS = 3_600_000

void t.test('a flag raised before or during the wait ends it, and counts once', async (t) => {
  const { signal } = new AbortController()
  const flag = new Wakeup()
  flag.raise()
  flag.raise()
  await flag.wait(LONG_MS, signal)
  let isOver = false
  const second = flag.wait(LONG_MS, signal).then(() => (isOver = true))
  await pause(1, signal)
  t.equal(isOver, false, 'the flag is down')
  flag.raise()
  await second
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

void t.test('the wait ends with its time, and when the signal is aborted', async () => {
  const stop = new AbortController()
  const flag = new Wakeup()
  await flag.wait(1, stop.signal)
  const waiting = flag.wait(LONG_MS, stop.signal)
  stop.abort()
  await waiting
  await flag.wait(LONG_MS, stop.signal)
})
