//! Tensors, parameters and files as JSON. Values travel as the hex text of their little-endian bytes, so that every bit
//! of every dtype arrives.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{BoolStore, Bool, Bytes, DType, Int, Tensor, TensorData};
use burn_pack::{Reader, Scalar};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(Serialize, Deserialize)]
pub struct Data {
    dtype: String,
    shape: Vec<usize>,
    hex: String,
}

impl From<TensorData> for Data {
    fn from(data: TensorData) -> Self {
        Self { dtype: format!("{:?}", data.dtype()), shape: data.shape().to_vec(), hex: hex(data.as_bytes()) }
    }
}

impl From<Data> for TensorData {
    fn from(data: Data) -> Self {
        let dtype = match data.dtype.as_str() {
            "F32" => DType::F32,
            "F64" => DType::F64,
            "I32" => DType::I32,
            "Bool(Native)" => DType::Bool(BoolStore::Native),
            other => panic!("inputs are not sent as {other}"),
        };
        let digits = data.hex.as_bytes();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        TensorData::from_bytes(Bytes::from_bytes_vec(digits.chunks(2).map(byte).collect()), data.shape, dtype)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One parameter of a loaded module, its value as the module holds it.
fn param(path: &[String], id: u64, kind: &str, require_grad: bool, data: TensorData) -> Value {
    let text = burn::module::ParamId::from(id).to_string();
    json!({"path": path.join("."), "id": id.to_string(), "id_text": text, "kind": kind, "require_grad": require_grad,
           "data": Data::from(data)})
}

#[derive(Default)]
struct Params {
    path: Vec<String>,
    found: Vec<Value>,
}

impl ModuleVisitor for Params {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, p: &Param<Tensor<D>>) {
        self.found.push(param(&self.path, p.id.val(), "float", p.is_require_grad(), p.val().into_data()));
    }

    fn visit_int<const D: usize>(&mut self, p: &Param<Tensor<D, Int>>) {
        self.found.push(param(&self.path, p.id.val(), "int", false, p.val().into_data()));
    }

    fn visit_bool<const D: usize>(&mut self, p: &Param<Tensor<D, Bool>>) {
        self.found.push(param(&self.path, p.id.val(), "bool", false, p.val().into_data()));
    }
}

pub fn params<M: Module>(module: &M) -> Vec<Value> {
    let mut params = Params::default();
    module.visit(&mut params);
    params.found
}

/// All that is in a file: tensors in the order of their names, metadata, scalars.
pub fn listing(reader: Reader) -> Result<Value, String> {
    let metadata = json!(reader.metadata());
    let scalars: Map<String, Value> = reader
        .scalars()
        .iter()
        .map(|(key, scalar)| {
            // Floats as text: JSON has no NaN.
            let value = match scalar {
                Scalar::Int(value) => json!({"Int": value}),
                Scalar::UInt(value) => json!({"UInt": value}),
                Scalar::Float(value) => json!({"Float": format!("{value:?}")}),
                Scalar::Bool(value) => json!({"Bool": value}),
            };
            (key.clone(), value)
        })
        .collect();
    let mut tensors = Vec::new();
    for tensor in reader.into_tensors().map_err(|error| error.to_string())? {
        let (name, dtype, shape, id, bytes) = tensor.into_parts().map_err(|error| error.to_string())?;
        let data = Data { dtype: format!("{dtype:?}"), shape: shape.to_vec(), hex: hex(&bytes) };
        tensors.push(json!({"name": name, "id": id.map(|id| id.to_string()), "data": data}));
    }
    Ok(json!({"tensors": tensors, "metadata": metadata, "scalars": scalars}))
}
