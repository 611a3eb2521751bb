import { powerTableCid } from '../shared/filecoin/f3/power-table.ts'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Anvil } from './evm/anvil.ts'
import { chainId } from './evm/anvil.ts'
import type { Deployment } from './evm/deploy.ts'
import type { Lotus } from './filecoin/lotus.ts'

/** The network's id in records. */
export const filecoinNetworkId = 'testnet'

/** Writes the service's configuration of these chains atomically: a reader finds all of it or nothing. */
export function writeNetworksFile(file: string, anvil: Anvil, deployment: Deployment, lotus: Lotus): void {
  const { certifier } = lotus
  const market = (address: string) => ({ address, startBlock: 0, idPrefix: null })
  const networks = {
    evm: [
      {
        blockchain: 'DEVNET',
        networkId: String(chainId),
        rpcUrls: [anvil.url],
        wsUrl: anvil.wsUrl,
        confirmations: 0,
        maxBlockRange: 2000,
        pollIntervalMs: 1000,
        erc20Loans: market(deployment.erc20Loans),
        erc20CollateralLock: market(deployment.erc20CollateralLock),
      },
    ],
    filecoin: [
      {
        networkId: filecoinNetworkId,
        rpcUrls: [lotus.url],
        token: null,
        startEpoch: 0,
        confidence: 0,
        pollIntervalMs: 1000,
        readVoucherStore: true,
        certificates: certifier && { instance: 0, powerTable: powerTableCid(certifier.committee.table(0)) },
      },
    ],
  }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.new`, `${JSON.stringify(networks, null, 2)}\n`)
  renameSync(`${file}.new`, file)
}
