import t from 'tap'
import { newNetworkHealth, type NetworkHealth } from '../../../indexer/network-state.ts'

function health(onChange?: () => void): NetworkHealth {
  return newNetworkHealth(
    { network: 'evm:1', blockchain: 'DEVNET', networkId: '1', roles: ['reader'] },
    onChange,
  )
}

void t.test('the same again is no change', (t) => {
  let changes = 0
  const network = health(() => {
    changes += 1
  })
  network.enter('reader', 'following')
  network.enter('reader', 'following')
  t.equal(changes, 1)
  network.fail('reading', 'node', 'a problem')
  network.fail('reading', 'node', 'a problem')
  t.equal(changes, 2)
  t.match(network, { state: 'retrying', problem: 'a problem', problemKind: 'node' })
  network.clear('reading')
  network.clear('reading')
  t.equal(changes, 3)
  t.match(network, { state: 'following', problem: null, problemKind: null })
  t.end()
})

void t.test('a problem stays until its own source has succeeded', (t) => {
  const network = health()
  network.enter('reader', 'following')
  network.fail('writing', 'step', 'blocks 1 to 2 cannot be written')
  network.fail('reading', 'node', 'block 3 cannot be read')
  network.fail('head', 'node', 'no head')
  t.equal(network.problem, 'block 3 cannot be read', 'the most important one is shown')
  network.clear('head')
  network.enter('reader', 'following')
  t.match(network, { state: 'retrying', problem: 'block 3 cannot be read' })
  network.fail('queue', 'queue', 'the queue is away')
  t.match(network, { state: 'retrying', problemKind: 'queue' })
  network.fail('status', 'database', 'the database is away')
  t.equal(network.problemKind, 'database')
  network.clear('status', 'queue', 'reading')
  t.match(network, { state: 'retrying', problemKind: 'step' })
  network.clear('writing')
  t.match(network, { state: 'following', problem: null })
  t.end()
})

void t.test('a standby with a problem stays a standby; a stopped network says why before all else', (t) => {
  const network = health()
  network.fail('queue', 'queue', 'the queue is away')
  t.equal(network.state, 'retrying')
  network.enter('reader', 'standby')
  t.match(network, { state: 'standby', problem: 'the queue is away' })
  network.enter('reader', 'stopped')
  network.fail('stopped', 'stopped', 'other contracts')
  t.match(network, { state: 'stopped', problem: 'other contracts', problemKind: 'stopped' })
  network.fail('worker', 'worker', 'takes nothing')
  t.equal(network.workerHealthy, false)
  t.end()
})

void t.test('a network is what its active roles are', (t) => {
  const network = newNetworkHealth({ network: 'evm:1', blockchain: 'DEVNET', networkId: '1' })
  const states: string[] = []
  const enter = (role: 'reader' | 'writer', phase: Parameters<NetworkHealth['enter']>[1]): void => {
    network.enter(role, phase)
    states.push(network.state)
  }
  enter('reader', 'standby')
  enter('writer', 'standby')
  enter('writer', 'following')
  enter('reader', 'starting')
  enter('reader', 'following')
  enter('reader', 'stopped')
  t.same(states, ['starting', 'standby', 'following', 'starting', 'following', 'stopped'])
  t.end()
})

void t.test('each role has the problems that are its own or everybody’s', (t) => {
  const network = newNetworkHealth({ network: 'evm:1', blockchain: 'DEVNET', networkId: '1' })
  network.enter('reader', 'following')
  network.enter('writer', 'following')
  network.fail('reading', 'node', 'no node answers')
  t.match(network.reportOf('reader'), { state: 'retrying', problem: 'no node answers', problemKind: 'node' })
  t.match(network.reportOf('writer'), { state: 'following', problem: null, problemKind: null })
  network.fail('queue', 'queue', 'the queue is away')
  t.match(network.reportOf('reader'), { state: 'retrying', problem: 'the queue is away' })
  t.match(network.reportOf('writer'), { state: 'retrying', problem: 'the queue is away' })
  network.enter('writer', 'standby')
  t.match(network.reportOf('writer'), { state: 'standby', problem: 'the queue is away' })
  t.end()
})

void t.test('a process that has a role no more knows nothing of it', (t) => {
  const network = newNetworkHealth({ network: 'evm:1', blockchain: 'DEVNET', networkId: '1' })
  const block = { number: 7, hash: '0x07' }
  for (const role of ['reader', 'writer'] as const) network.lead(role)
  Object.assign(network, {
    ...{ head: { ...block, parentHash: '0x06', timeS: 1 }, finalized: block, indexed: block },
    ...{ queueWaiting: 3, queueFailed: 0 },
  })
  network.standDown('reader')
  t.match(network, { head: null, finalized: null, indexed: block, queueWaiting: 3, queueFailed: 0 })
  network.standDown('writer')
  t.match(network, { indexed: null, queueWaiting: null, queueFailed: null })
  t.same([...network.held], [])
  t.end()
})
