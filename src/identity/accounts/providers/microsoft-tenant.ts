/** The Microsoft tenant of an ID token, which is checked because tenants share issuers such as `common`. */
import { claimOf, type ProviderClaims } from './claims.ts'
import { ProviderFault } from './provider.ts'

/** The tenant of personal accounts. */
const consumers = '9188040d-6c67-4c5b-b112-36a304b66dad'
const guid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function isAllowed(tid: string, tenant: string): boolean {
  if (tenant === 'common') return true
  if (tenant === 'organizations') return tid !== consumers
  return tid === (tenant === 'consumers' ? consumers : tenant)
}

/** `claims`: of a verified ID token. Throws a `ProviderFault` unless its issuer is that of an allowed tenant. */
export function requireTenant(claims: ProviderClaims, tenant: string): void {
  const tid = claimOf(claims, 'tid')
  const isOwn =
    typeof tid === 'string' &&
    guid.test(tid) &&
    claimOf(claims, 'iss') === `https://login.microsoftonline.com/${tid}/v2.0`
  if (!isOwn || !isAllowed(tid, tenant)) throw new ProviderFault('invalid', 'The tenant is not allowed.')
}
