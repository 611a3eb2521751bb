import t from 'tap'
import { Room } from '../../../../indexer/queue/room.ts'

await t.test('a network that is alone has all the room', (t) => {
  const one = new Room(100).of('evm:1')
  one.take(1_000)
  t.notOk(one.isTight())
  t.end()
})

await t.test('without room it is tight for whoever holds its share, and for nobody else', (t) => {
  const room = new Room(100)
  const [much, little] = [room.of('evm:1'), room.of('evm:2')]
  much.take(80)
  little.take(10)
  t.notOk(much.isTight(), 'there is room')
  little.take(15)
  t.ok(much.isTight())
  t.notOk(little.isTight(), 'less than its share of 50')
  much.leave(20)
  t.notOk(much.isTight(), 'something was written')
  t.end()
})

await t.test('what a network held is free once it ends, or once it leaves more than it took', (t) => {
  const room = new Room(100)
  const [one, other] = [room.of('evm:1'), room.of('evm:2')]
  one.take(60)
  other.take(60)
  t.ok(one.isTight())
  other.leaveAll()
  t.notOk(one.isTight())
  other.leave(1_000)
  other.take(40)
  t.ok(one.isTight(), 'to leave more than was taken gives no room')
  t.end()
})
