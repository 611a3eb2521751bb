/** The CID of the power table with which an instance is decided. */
export interface PowerTableRef {
  instance: number
  powerTable: string
}

/** How far certificates are verified. Stored with the network, so that a restart trusts no other table. */
export interface CertificateProgress {
  /** The network's name in the manifest of F3. */
  network: string
  /** The table that is trusted: that of the configuration, or else of the first node that was asked. */
  pinned: PowerTableRef
  /** The table that verified certificates lead to. */
  next: PowerTableRef
  /** The newest certified tipset, by the CIDs of its blocks. */
  head: { epoch: number; key: string }
}
