import t from 'tap'
import { startFaultProxy } from '../../../devnet/faults/fault-proxy.ts'
import { bringWeather, lotusFaults } from '../../../devnet/faults/weather.ts'

void t.test('lies that cover up one another are not there together', async (t) => {
  const proxy = await startFaultProxy('http://127.0.0.1:1')
  t.teardown(() => proxy.stop())
  const weather = bringWeather(proxy, lotusFaults, { seed: 'covered up' })
  const seen = new Set<string>()
  for (let change = 0; change < 5_000; change += 1) {
    weather.change()
    const covering = new Set(weather.present.filter((kind) => lotusFaults[kind]?.coversUp !== undefined))
    for (const kind of covering) seen.add(kind)
    if (covering.size > 1) t.fail([...covering].join(', '))
  }
  t.same([...seen].sort(), [
    'a message missing',
    'a receipt missing',
    'messages without their receipts',
    'receipts without their messages',
  ])
})
