import { execFileSync } from 'node:child_process'
import { deployExample } from './deploy-example.ts'
import { freePort } from './free-port.ts'
import { eventually } from './programs.ts'
import {
  newBase,
  nodeOn,
  redisCli,
  replicasOf,
  startNode,
  stopAll,
  type RedisGroup,
  type RedisNode,
} from './redis-group.ts'

export interface ClusterGroup extends RedisGroup {
  /** The node that has this key, as a living node names it. */
  masterOf(key: string): RedisNode
  /** Whether the others know that this node is away, and all slots have a master. */
  isWithout(node: RedisNode): boolean
  /** Moves the slot of this key to a master that does not have it. */
  moveSlotOf(key: string): void
}

/** Starts three masters, and a replica for each. */
export async function startRedisCluster(): Promise<ClusterGroup> {
  const base = await newBase()
  const nodes: RedisNode[] = []
  for (let index = 0; index < 6; index += 1) {
    const bus = await freePort()
    const configuration = (port: number): string =>
      deployExample('redis-cluster.conf', { 'port 6379': `port ${port}\ncluster-port ${bus}` })
    nodes.push(await startNode(base, configuration))
  }
  const places = nodes.map(({ port }) => `127.0.0.1:${port}`)
  execFileSync('redis-cli', ['--cluster', 'create', ...places, '--cluster-replicas', '1', '--cluster-yes'])
  const ask = (...words: string[]): string => {
    const alive = nodes.find(({ process }) => process.isRunning)
    return redisCli(alive?.port ?? 0, 'cluster', ...words)
  }
  const masters = (): Master[] => ask('nodes').split('\n').flatMap(masterIn)
  const slotOf = (key: string): number => Number(ask('keyslot', key))
  const masterWith = (slot: number): Master | undefined => masters().find(({ has }) => has(slot))
  const group: ClusterGroup = {
    url: `redis+cluster://${places.slice(0, 3).join(',')}`,
    nodes,
    masterOf: (key) => nodeOn(nodes, masterWith(slotOf(key))?.port ?? 0),
    isWithout({ port }) {
      const line = ask('nodes')
        .split('\n')
        .find((one) => one.includes(`:${port}@`))
      return / (master|slave),fail /.test(line ?? '') && ask('info').includes('cluster_state:ok')
    },
    moveSlotOf(key) {
      const slot = slotOf(key)
      const from = masterWith(slot)
      const to = masters().find(({ id }) => id !== from?.id)
      if (from === undefined || to === undefined) throw new Error('the Cluster has too few masters')
      moveSlot(slot, from, to)
    },
    async isWhole() {
      await eventually(
        'every node sees six, and each master has a replica',
        () => nodes.every(({ port }) => seesAll(port)) && hasReplicas(nodes),
        60_000,
      )
    },
    stop: () => stopAll(nodes, base),
  }
  await group.isWhole()
  return group
}

interface Master {
  id: string
  port: number
  has: (slot: number) => boolean
}

/** A line of CLUSTER NODES: id, address, flags and five more words, then its ranges of slots. */
function masterIn(line: string): Master[] {
  const [id = '', address = '', flags = '', , , , , , ...ranges] = line.split(' ')
  if (!/^(myself,)?master$/.test(flags)) return []
  const has = (slot: number): boolean =>
    ranges.some((range) => {
      const [first = NaN, last = first] = range.split('-').map(Number)
      return first <= slot && slot <= last
    })
  return [{ id, port: Number(/:(\d+)@/.exec(address)?.[1]), has }]
}

/** As `redis-cli --cluster reshard` does, which cannot be told which slot. */
function moveSlot(slot: number, from: Master, to: Master): void {
  const place = ['127.0.0.1', `${to.port}`]
  redisCli(to.port, 'cluster', 'setslot', `${slot}`, 'importing', from.id)
  redisCli(from.port, 'cluster', 'setslot', `${slot}`, 'migrating', to.id)
  const keys = redisCli(from.port, 'cluster', 'getkeysinslot', `${slot}`, '10000').split('\n').filter(Boolean)
  for (const key of keys) redisCli(from.port, 'migrate', ...place, key, '0', '5000')
  for (const { port } of [to, from]) redisCli(port, 'cluster', 'setslot', `${slot}`, 'node', to.id)
}

function seesAll(port: number): boolean {
  const lines = redisCli(port, 'cluster', 'nodes').split('\n').filter(Boolean)
  const isUp = lines.every((line) => !/fail|handshake|disconnected|noaddr/.test(line))
  return isUp && lines.length === 6 && redisCli(port, 'cluster', 'info').includes('cluster_state:ok')
}

function hasReplicas(nodes: readonly RedisNode[]): boolean {
  return nodes.filter(({ port }) => replicasOf(port) === 1).length === 3
}
