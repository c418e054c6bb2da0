export const rotation = String.raw`\begin{bmatrix} \htmlData{part=cos}{\cos\delta\omega_j} & \htmlData{part=sin}{\sin\delta\omega_j} \\ \htmlData{part=sin}{-\sin\delta\omega_j} & \htmlData{part=cos}{\cos\delta\omega_j} \end{bmatrix} \htmlData{part=from}{\begin{bmatrix} p_{i,2j} \\ p_{i,2j+1} \end{bmatrix}} = \htmlData{part=to}{\begin{bmatrix} p_{i+\delta,2j} \\ p_{i+\delta,2j+1} \end{bmatrix}},\qquad\allowbreak {\omega_j = b^{-2j/d}}`;

export const sum = String.raw`\sin\bigl((i+\delta)\,\omega\bigr) = {\cos\delta\omega \cdot \sin i\omega} + {\sin\delta\omega \cdot \cos i\omega}`;

export const rotary = String.raw`{\operatorname{turn}_i(q) \cdot \operatorname{turn}_m(k)} = \sum_j \lvert q_j\rvert\,\lvert k_j\rvert\,\cos\bigl(\varphi_j + (i-m)\,\omega_j\bigr),\qquad\allowbreak {\omega_j = b^{-2j/D}}`;
