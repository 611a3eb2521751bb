import t from 'tap'
import { concerningChannels, receiversOf } from '../../../../indexer/ingest/channel-messages.evolve.ts'
import type { ChainEvent } from '../../../../shared/events/chain-event.ts'
import { fundChannel, makeChannel, settleChannel } from '../../../helpers/channel-events.ts'

void t.test('a message concerns a channel by its ID or its robust address, from its creation on', (t) => {
  const early = settleChannel({ to: 't01000', height: 1 })
  const made = makeChannel({ channel: 't2a', channelId: 't01000', height: 2 })
  const byId = settleChannel({ to: 't01000', height: 3 })
  const byRobust = fundChannel({ to: 't2a', height: 3 })
  const stranger = fundChannel({ to: 't2b', height: 3 })
  const kept = concerningChannels([early, made, byId, byRobust, stranger], [])
  t.same(
    kept.map((event) => [event.kind, 'channel' in event ? event.channel : null]),
    [
      ['CreateChannel', 't2a'],
      ['SettleChannel', 't2a'],
      ['FundChannel', 't2a'],
    ],
  )
  t.same(receiversOf([early, made, byRobust, stranger]), ['t01000', 't2a', 't2b'])
  t.end()
})

void t.test('in another branch an ID belongs to the channel that is made with it there', (t) => {
  const known = [{ robust: 't2old', channelId: 't01000' }]
  const message = settleChannel({ to: 't01000', height: 5 })
  t.match(concerningChannels([message], known), [{ channel: 't2old' }])
  const made = makeChannel({ channel: 't2new', channelId: 't01000', height: 4 })
  t.match(concerningChannels([made, message], []), [{ kind: 'CreateChannel' }, { channel: 't2new' }])
  t.end()
})

void t.test('a creation that does not decode stays in sight, other messages to nobody do not', (t) => {
  const { value: _value, sender: _sender, ...base } = fundChannel({ to: 't01', height: 1 })
  const undecodable = (to: string): ChainEvent => ({
    ...base,
    ...{ kind: 'UndecodableMessage', to, channel: null },
    ...{ method: '2', reason: 'no address', paramsHead: '0x', paramsBytes: 0 },
  })
  const kept = concerningChannels([undecodable('t01'), undecodable('t01234')], [])
  t.same(
    kept.map((event) => 'to' in event && event.to),
    ['t01'],
  )
  t.end()
})
