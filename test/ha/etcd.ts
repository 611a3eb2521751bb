import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { deployExample } from '../helpers/deploy-example.ts'
import { freePort } from '../helpers/free-port.ts'
import { eventually } from '../helpers/programs.ts'
import { ServerProcess } from '../helpers/server-process.ts'

const WITHIN_MS = 60_000

/** Three members of etcd, from deploy/etcd.env. */
export interface EtcdCluster {
  /** As Patroni's `etcd3.hosts` has them. */
  hosts: string
  members: readonly ServerProcess[]
  /** Starts what was killed, and resolves once every member answers. */
  restart(): Promise<void>
}

/** `onStop` takes what ends each member. */
export async function startEtcd(
  folder: string,
  onStop: (stop: () => Promise<void>) => void,
): Promise<EtcdCluster> {
  const names = ['etcd1', 'etcd2', 'etcd3']
  const clients = await Promise.all(names.map(() => freePort()))
  const peers = await Promise.all(names.map(() => freePort()))
  const ports = Object.fromEntries(
    names.map((_, index) => [`10.0.0.${index + 1}:2380`, `127.0.0.1:${peers[index] ?? 0}`]),
  )
  const members = names.map((name, index) => {
    const dataDir = join(folder, name)
    mkdirSync(dataDir, { mode: 0o700 })
    const client = clients[index] ?? 0
    const settings = deployExample('etcd.env', {
      'ETCD_NAME=etcd1': `ETCD_NAME=${name}`,
      '/var/lib/etcd/loan-activity': dataDir,
      '10.0.0.1:2379': `127.0.0.1:${client}`,
      'PEER_URLS=http://10.0.0.1:2380': `PEER_URLS=http://127.0.0.1:${peers[index] ?? 0}`,
      ...ports,
    })
    return new ServerProcess('etcd', [], { env: parseEnv(settings) })
  })
  const restart = async (): Promise<void> => {
    for (const member of members) if (!member.isRunning) member.start()
    await eventually(
      () => `etcd answers\n${members.map(({ output }) => output).join('\n')}`,
      async () => (await Promise.all(clients.map(isHealthy))).every(Boolean),
      WITHIN_MS,
    )
  }
  for (const member of members) onStop(() => member.kill())
  await restart()
  return { hosts: clients.map((port) => `127.0.0.1:${port}`).join(','), members, restart }
}

async function isHealthy(port: number): Promise<boolean> {
  const within = AbortSignal.timeout(2_000)
  const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: within }).catch(() => undefined)
  await answer?.arrayBuffer().catch(() => undefined)
  return answer?.ok === true
}
