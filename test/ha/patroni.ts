import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { accountForPostgres } from '../../devnet/postgres/run-as.ts'
import { deployExample } from '../helpers/deploy-example.ts'
import { freePort } from '../helpers/free-port.ts'
import { eventually } from '../helpers/programs.ts'
import { ServerProcess } from '../helpers/server-process.ts'
import { startEtcd, type EtcdCluster } from './etcd.ts'

export const BINARIES = '/usr/lib/postgresql/15/bin'
const PASSWORD = 'change-me'
const WITHIN_MS = 120_000

export interface Member {
  name: string
  port: number
  restPort: number
  dataDir: string
}

/** Three Postgres servers under Patroni, with three members of etcd and HAProxy, from the examples of deploy/. */
export interface PatroniCluster {
  /** Leads to the primary. */
  primaryUrl: string
  /** Leads to the replicas. */
  replicasUrl: string
  etcd: EtcdCluster
  /** Undefined while there is none. */
  primary(): Promise<Member | undefined>
  /** Ends the postmaster and its children at once, as `kill -9` of them all does. */
  killPostgres(member: Member): void
  /** Resolves once there are a primary and two streaming replicas, one of them synchronous. */
  isWhole(): Promise<void>
}

/** `onStop` takes what ends each part; the caller runs these in reverse. */
export async function startPatroni(
  folder: string,
  onStop: (stop: () => Promise<void>) => void,
): Promise<PatroniCluster> {
  const etcd = await startEtcd(folder, onStop)
  const members: Member[] = []
  for (const name of ['pg1', 'pg2', 'pg3'])
    members.push({ name, port: await freePort(), restPort: await freePort(), dataDir: join(folder, name) })
  for (const member of members) startMember(folder, member, etcd.hosts, onStop)
  const [primaryPort, replicasPort] = [await freePort(), await freePort()]
  const primary = (): Promise<Member | undefined> => firstThat(members, '/primary')
  const cluster: PatroniCluster = {
    primaryUrl: urlOf(primaryPort),
    replicasUrl: urlOf(replicasPort),
    etcd,
    primary,
    killPostgres: (member) => killPostgres(member),
    async isWhole() {
      await eventually(
        'a primary and two replicas',
        async () => {
          const replicas = await Promise.all(members.map((member) => answers(member, '/replica')))
          const synchronous = await Promise.all(members.map((member) => answers(member, '/synchronous')))
          const isLed = (await primary()) !== undefined
          return isLed && replicas.filter(Boolean).length === 2 && synchronous.some(Boolean)
        },
        WITHIN_MS,
      )
    },
  }
  await cluster.isWhole()
  startProxy(folder, members, { primaryPort, replicasPort }, onStop)
  return cluster
}

type OnStop = (stop: () => Promise<void>) => void

function startMember(folder: string, member: Member, etcdHosts: string, onStop: OnStop): void {
  const file = join(folder, `${member.name}.yml`)
  const own = join(folder, `${member.name}-sockets`)
  mkdirSync(own, { mode: 0o700 })
  writeFileSync(
    file,
    deployExample('patroni.yml', {
      'name: pg1': `name: ${member.name}`,
      '10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379': etcdHosts,
      '10.0.0.1:8008': `127.0.0.1:${member.restPort}`,
      '10.0.0.1:5432': `127.0.0.1:${member.port}`,
      '10.0.0.0/24': '127.0.0.1/32',
      '/var/lib/postgresql/15/loan-activity': member.dataDir,
      '/var/lib/postgresql/pgpass-loan-activity': join(own, 'pgpass'),
      '/var/run/postgresql': own,
    }),
  )
  // Patroni and Postgres refuse to run as root.
  const account = accountForPostgres(member.dataDir)
  if (account !== undefined) for (const path of [folder, file, own]) chownSync(path, account.uid, account.gid)
  const patroni = new ServerProcess('patroni', [file], account ?? {})
  patroni.start()
  onStop(async () => {
    await patroni.kill()
    killPostgres(member)
  })
}

function startProxy(
  folder: string,
  members: readonly Member[],
  { primaryPort, replicasPort }: { primaryPort: number; replicasPort: number },
  onStop: OnStop,
): void {
  const file = join(folder, 'haproxy-postgres.cfg')
  const servers = Object.fromEntries(
    members.map(({ name, port, restPort }, index) => [
      `server ${name} 10.0.0.${index + 1}:5432 port 8008`,
      `server ${name} 127.0.0.1:${port} port ${restPort}`,
    ]),
  )
  const ports = {
    'bind :5000': `bind 127.0.0.1:${primaryPort}`,
    'bind :5001': `bind 127.0.0.1:${replicasPort}`,
  }
  writeFileSync(file, deployExample('haproxy-postgres.cfg', { ...servers, ...ports }))
  const proxy = new ServerProcess('haproxy', ['-db', '-f', file])
  proxy.start()
  onStop(() => proxy.kill())
}

/** Children that outlive their postmaster by a moment would go on to answer. */
function killPostgres({ dataDir }: Member): void {
  const pid = postmasterOf(dataDir)
  if (pid === undefined) return
  const children = childrenOf(pid)
  for (const one of [pid, ...children]) {
    try {
      process.kill(one, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
}

function postmasterOf(dataDir: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0])
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dataDir) ? pid : undefined
  } catch {
    return undefined
  }
}

function childrenOf(pid: number): number[] {
  try {
    return execFileSync('ps', ['-o', 'pid=', '--ppid', `${pid}`], { encoding: 'utf8' })
      .split('\n')
      .map(Number)
      .filter(Boolean)
  } catch {
    return []
  }
}

async function firstThat(members: readonly Member[], path: string): Promise<Member | undefined> {
  for (const member of members) if (await answers(member, path)) return member
  return undefined
}

function answers({ restPort }: Member, path: string): Promise<boolean> {
  return isOk(`http://127.0.0.1:${restPort}${path}`)
}

async function isOk(url: string): Promise<boolean> {
  const within = AbortSignal.timeout(1_000)
  const answer = await fetch(url, { signal: within }).catch(() => undefined)
  await answer?.arrayBuffer().catch(() => undefined)
  return answer?.ok === true
}

function urlOf(port: number): string {
  return `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`
}
