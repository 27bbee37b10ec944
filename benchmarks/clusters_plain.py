"""Paper 3's algorithm as it stands, with Eq. 6 put right: columns are samples, one lasso after the other."""

import numpy as np


def feature_sign(AtA, Atx, weight):
    """min ‖x − Aa‖² + weight‖a‖₁ by feature-sign search (Lee et al. 2006), reference [5] of the paper."""
    a = np.zeros(len(AtA))
    while True:
        slope = 2 * (AtA @ a - Atx)
        outside = np.where(a == 0, np.abs(slope), 0)
        j = int(np.argmax(outside))
        if outside[j] <= weight * (1 + 1e-9):
            return a
        sign = np.sign(a)
        sign[j] = -np.sign(slope[j])
        while True:
            active = np.flatnonzero(sign)
            G = AtA[np.ix_(active, active)]
            target = np.linalg.solve(G + 1e-12 * np.eye(len(G)), Atx[active] - weight * sign[active] / 2)
            old = a[active]
            # the best point on the way to where some sign changes
            with np.errstate(divide="ignore", invalid="ignore"):
                crossing = old / (old - target)
            steps = [1.0, *crossing[(crossing > 0) & (crossing < 1)]]
            points = [old + step * (target - old) for step in steps]
            values = [p @ G @ p - 2 * Atx[active] @ p + weight * np.abs(p).sum() for p in points]
            best = points[int(np.argmin(values))]
            best[np.abs(best) < 1e-12] = 0
            a[active] = best
            sign = np.sign(a)
            active = np.flatnonzero(a)
            slope = 2 * (AtA @ a - Atx)
            if np.all(np.abs(slope[active] + weight * sign[active]) <= 1e-9 * max(1, np.abs(Atx).max())):
                break


def codes_and_assignment(X, D, D0, ridge, sparsity):
    """Sections 4.2 and 4.3: for every sample and cluster Eq. 8 and Eq. 7; the cheapest cluster wins."""
    C, k, N = len(D), D[0].shape[1], X.shape[1]
    costs = np.full(N, np.inf)
    labels, A, A0 = np.zeros(N, dtype=int), np.zeros((k, N)), np.zeros((D0.shape[1], N))
    for c in range(C):
        Q = D[c]
        M = np.linalg.inv(Q.T @ Q + ridge * np.eye(k)) @ Q.T
        G = M @ D0
        stacked = np.vstack([D0 - Q @ G, np.sqrt(ridge) * G])
        gram = stacked.T @ stacked
        for i in range(N):
            z = M @ X[:, i]
            x = np.concatenate([X[:, i] - Q @ z, np.sqrt(ridge) * z])
            a0 = feature_sign(gram, stacked.T @ x, sparsity)
            a = M @ (X[:, i] - D0 @ a0)
            error = X[:, i] - Q @ a - D0 @ a0
            cost = error @ error + ridge * a @ a + sparsity * np.abs(a0).sum()
            if cost < costs[i]:
                costs[i], labels[i], A[:, i], A0[:, i] = cost, c, a, a0
    return labels, A, A0, costs


def update_dictionaries(X, D, D0, labels, A, A0, weight):
    """Section 4.1 with H = λ(2D₋ⱼD₋ⱼᵀ + D₀D₀ᵀ) in Eq. 6: solve, normalise, scale the coefficients."""
    d, k = X.shape[0], D[0].shape[1]
    D, D0, A, A0 = [Q.copy() for Q in D], D0.copy(), A.copy(), A0.copy()
    for c in range(len(D)):
        members = np.flatnonzero(labels == c)
        for j in range(k):
            rest = X[:, members] - D0 @ A0[:, members] - D[c] @ A[:, members] + np.outer(D[c][:, j], A[j, members])
            others = np.hstack([np.delete(D[c], j, axis=1), *(D[e] for e in range(len(D)) if e != c)])
            H = weight * (2 * others @ others.T + D0 @ D0.T)
            atom = np.linalg.solve(
                A[j, members] @ A[j, members] * np.eye(d) + H + 1e-12 * np.eye(d), rest @ A[j, members]
            )
            length = np.linalg.norm(atom)
            if length > 0:
                D[c][:, j] = atom / length
                A[j, members] *= length
    everything = np.hstack(D)
    H = weight * everything @ everything.T
    own = np.zeros_like(X)
    for c in range(len(D)):
        members = labels == c
        own[:, members] = D[c] @ A[:, members]
    for j in range(D0.shape[1]):
        rest = X - own - D0 @ A0 + np.outer(D0[:, j], A0[j])
        atom = np.linalg.solve(A0[j] @ A0[j] * np.eye(d) + H + 1e-12 * np.eye(d), rest @ A0[j])
        length = np.linalg.norm(atom)
        if length > 0:
            D0[:, j] = atom / length
            A0[j] *= length
    return D, D0
